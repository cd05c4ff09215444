import { type JsonObject, objectsAt } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';
import { configurationFaults, hookDefaults } from './webhook-rules.ts';

const group = 'admissionregistration.k8s.io';

/** Returns the strategy of one kind of configurations. */
function configurations(resource: string, isMutating: boolean): Strategy {
  const more: JsonObject = isMutating ? { reinvocationPolicy: 'Never' } : {};
  return strategyOf(builtIn(resource, group), {
    defaults: (one) => {
      const hooks = objectsAt(one, 'webhooks');
      return hooks.length === 0 ? one : { ...one, webhooks: hooks.map((hook) => hookDefaults(hook, more)) };
    },
    faults: (one, old) => configurationFaults(one, old, isMutating),
    metadataChecks: ['whole'],
  });
}

/** Strategy of configurations of mutating webhooks. */
export const mutatingWebhooksStrategy: Strategy = configurations('mutatingwebhookconfigurations', true);

/** Strategy of configurations of validating webhooks. */
export const validatingWebhooksStrategy: Strategy = configurations('validatingwebhookconfigurations', false);
