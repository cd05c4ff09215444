import type { KubeletConfiguration } from './kubelet-configuration.ts';
import { nodeRules } from './node-rules.ts';
import type { OptionFault } from '../options-error.ts';
import { resourceRules } from './resource-rules.ts';
import type { RuleContext } from './rule.ts';
import { serviceRules } from './service-rules.ts';

/** The agent's facts: it follows Kubernetes 1.36 and logs as text and JSON. */
const thisAgent: RuleContext = { version: { major: 1, minor: 36 }, logFormats: ['text', 'json'] };

const rules = [...nodeRules, ...resourceRules, ...serviceRules];

/** Returns every violated rule, in the kubelet's order and words. Follows `ValidateKubeletConfiguration`. */
export function validateKubeletConfiguration(
  config: KubeletConfiguration,
  context: RuleContext = thisAgent,
): OptionFault[] {
  return rules.flatMap(({ path, broken }) => {
    const found = broken(config, context);
    const messages = found === undefined ? [] : typeof found === 'string' ? [found] : found;
    return messages.map((message) => ({ path, message }));
  });
}
