import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from '../../../src/kube/types.ts';
import type { CriAgent } from '../../support/cri-agent.ts';
import type { Scenario, ScenarioStep } from './recording.ts';

/** What was done at the recorded node itself is told in words; these are the words, and what they mean. */
interface NodeAct {
  readonly words: RegExp;
  /** When: recordings leave the time open. Seconds since the start, of the times of its kind that have not been taken yet. */
  readonly times: (scenario: Scenario) => readonly number[];
  readonly act: (node: CriAgent, scenario: Scenario) => void | Promise<void>;
}

const acts: readonly NodeAct[] = [
  {
    words: /^manifest \S+ written/,
    times: () => [0],
    act: (node, scenario) => {
      write(node, manifestsIn(scenario).slice(0, 1));
    },
  },
  {
    words: /^manifest changed/,
    times: killTimes,
    act: (node, scenario) => {
      write(node, manifestsIn(scenario).slice(-1));
    },
  },
  {
    words: /^manifests a \(configMap volume\), b \(service account\), c \(broken JSON\)/,
    times: () => [0],
    act: (node, scenario) => {
      const [first] = manifestsIn(scenario);
      if (!first) return;
      const named = (name: string, spec: object): Pod => ({
        ...first,
        metadata: { ...first.metadata, name },
        spec: { ...first.spec, containers: first.spec?.containers ?? [], ...spec },
      });
      writeFileSync(join(node.manifests, 'c.json'), '{"apiVersion": "v1", "kind": "Pod", ');
      write(node, [
        named('a', { volumes: [{ name: 'v', configMap: { name: 'cm' } }] }),
        named('b', { serviceAccountName: 'default' }),
        ...manifestsIn(scenario),
      ]);
    },
  },
  {
    words: /^manifests? removed$/,
    times: killTimes,
    act: ({ manifests }) => {
      for (const file of readdirSync(manifests)) rmSync(join(manifests, file));
    },
  },
  {
    words: /^kubelet restarted with nodefs\.available: 99%$/,
    times: silenceEnds,
    act: (node) => node.restart({ evictionHard: { 'nodefs.available': '99%' } }),
  },
  {
    words: /^kubelet restarted with the normal configuration$/,
    times: silenceEnds,
    act: (node) => node.restart(),
  },
];

const actOf = (note: string | undefined): NodeAct | undefined =>
  acts.find(({ words }) => words.test(note ?? ''));

/** Was it done at the node, without a request? */
export const isNodeAct = ({ op, method }: ScenarioStep): boolean => op === 'action' && !method;

/** The scenario with the times of what was done at the node, and its steps of that kind in their order. */
export function withTimesOfActs(scenario: Scenario): Scenario {
  const taken = new Map<NodeAct['times'], number>();
  const steps = scenario.steps.map((step) => {
    const act = isNodeAct(step) ? actOf(step.note) : undefined;
    if (!act) return step;
    const nth = taken.get(act.times) ?? 0;
    taken.set(act.times, nth + 1);
    return { ...step, t: act.times(scenario)[nth] ?? 0 };
  });
  return { ...scenario, steps };
}

/** Does at the node what a step tells of. @throws {Error} nothing is known of such words */
export async function actAtNode(node: CriAgent, scenario: Scenario, { note }: ScenarioStep): Promise<void> {
  const act = actOf(note);
  if (!act) throw new Error(`nobody knows how to do this at the node: ${note ?? 'nothing'}`);
  await act.act(node, scenario);
}

/**
 * Is something done at the node, or to its object? What other pods tell at that time would change what it tells of static pods, and when; a taint
 * would have them refused.
 */
export const actsAtNode = ({ steps }: Scenario): boolean =>
  steps.some((step) => isNodeAct(step) || changesNode(step));

const changesNode = ({ op, path = '' }: ScenarioStep): boolean =>
  op === 'action' && path.startsWith('/api/v1/nodes/');

const kubeletSteps = ({ steps }: Scenario): readonly ScenarioStep[] =>
  steps.filter(({ op }) => op === 'kubelet').sort((a, b) => (a.t ?? 0) - (b.t ?? 0));

/** Just before the kubelet began to end containers. */
function killTimes(scenario: Scenario): readonly number[] {
  return kubeletSteps(scenario)
    .filter(({ verb, body }) => verb === 'create' && (body as { reason?: string }).reason === 'Killing')
    .map(({ t = 0 }) => t - 0.05);
}

/** Just before the kubelet spoke again after a silence of some seconds, in which it had been ended and started. */
function silenceEnds(scenario: Scenario): readonly number[] {
  const times = kubeletSteps(scenario).map(({ t = 0 }) => t);
  return times.filter((t, i) => i > 0 && t - (times[i - 1] ?? 0) > 3).map((t) => t - 1);
}

/** The manifests behind the mirrors that the kubelet made, each once. */
function manifestsIn(scenario: Scenario): readonly Pod[] {
  const byHash = new Map<string, Pod>();
  for (const { verb, resource, body } of kubeletSteps(scenario)) {
    if (verb !== 'create' || resource !== 'pods') continue;
    const { metadata, spec } = body as Pod;
    const { name = '', namespace = '', labels = {}, annotations = {} } = metadata ?? {};
    const own = Object.entries(annotations).filter(([key]) => !key.startsWith('kubernetes.io/config.'));
    const hash = annotations['kubernetes.io/config.hash'] ?? '';
    byHash.set(hash, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: name.replace(/-node-a$/, ''),
        namespace,
        labels,
        ...(own.length > 0 && { annotations: Object.fromEntries(own) }),
      },
      // the kubelet has added its own toleration
      ...(spec && { spec: { ...spec, tolerations: [] } }),
    });
  }
  return [...byHash.values()];
}

function write({ manifests }: CriAgent, pods: readonly Pod[]): void {
  for (const pod of pods)
    writeFileSync(join(manifests, `${pod.metadata?.name ?? ''}.json`), JSON.stringify(pod));
}
