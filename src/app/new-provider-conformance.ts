/** The end of each project's conformance test. */
const behaveTemplate = `
/**
 * Records run until they are stopped: laws about containers that end by themselves do not apply yet. Make the pod do what \`behaviour\` says
 * once your backend can, for example by its command, and they are checked too.
 */
function behave(pod: Pod, _container: string, behaviour: Behaviour): Pod | undefined {
  return Object.keys(behaviour).length === 0 ? pod : undefined;
}
`;

/** The conformance test of a project, by contract; `__TYPE__` stands for the class, `__NAME__` for the provider. */
export const conformanceTemplates: Readonly<Record<'pod' | 'vkubelet' | 'container', string>> = {
  pod: `import { describe, it } from 'node:test';
import type { Pod } from 'podtender';
import { conformance, type Behaviour } from 'podtender/conformance';
import { __TYPE__ } from '../src/provider.ts';

// The laws of docs/conformance-suite.md, each with a provider of its own.
conformance(() => ({ provider: new __TYPE__(), behave }), { describe, it });
${behaveTemplate}`,
  vkubelet: `import { describe, it } from 'node:test';
import { silentLogger, systemClock, type Pod } from 'podtender';
import { conformance, type Behaviour } from 'podtender/conformance';
import { HandlerProvider } from 'podtender/vkubelet';
import { __TYPE__ } from '../src/provider.ts';

// The laws of docs/conformance-suite.md, each with a provider of its own, as the agent sees it.
conformance(
  () => {
    const provider = new HandlerProvider({
      handler: new __TYPE__(),
      name: '__NAME__',
      clock: systemClock,
      logger: silentLogger,
      recorder: { event: () => undefined },
    });
    provider.start();
    return { provider, behave, oneByName: true, close: () => provider.stop() };
  },
  { describe, it },
);
${behaveTemplate}`,
  container: `import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { standaloneContainerProvider, type Pod } from 'podtender';
import { conformance, type Behaviour } from 'podtender/conformance';
import { __TYPE__ } from '../src/provider.ts';

// The laws of docs/conformance-suite.md, each with a runtime of its own, as the agent sees it.
conformance(
  async () => {
    const runtime = new __TYPE__();
    const podLogsRoot = await mkdtemp(join(tmpdir(), '__NAME__-logs-'));
    const options = { runtimeName: '__NAME__', podLogsRoot };
    const provider = standaloneContainerProvider({ runtime, images: runtime }, options);
    return { provider, behave, close: () => rm(podLogsRoot, { recursive: true }) };
  },
  { describe, it },
);
${behaveTemplate}`,
};
