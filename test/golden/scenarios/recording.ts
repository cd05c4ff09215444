import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Pod } from '../../../src/kube/types.ts';
import { withTimesOfActs } from './node-acts.ts';

/** One step of a recorded scenario; FORMAT.md of the recordings says what is where. */
export interface ScenarioStep {
  readonly op: 'setup' | 'action' | 'watch' | 'kubelet' | 'file';
  /** Seconds since the start. */
  readonly t?: number;
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path?: string;
  readonly body?: object;
  readonly status?: number;
  readonly type?: string;
  readonly object?: Pod;
  readonly verb?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly code?: number;
  readonly stage?: string;
  /** What was done at the node itself, in words. */
  readonly note?: string;
}

export interface ScenarioEvent {
  readonly verb: string;
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly fieldPath?: string;
  readonly object?: string;
}

export interface Scenario {
  readonly id: string;
  readonly title: string;
  readonly steps: readonly ScenarioStep[];
  readonly events?: readonly ScenarioEvent[];
}

/** Several recordings of one scenario: they show what depends on timing. */
export interface ScenarioTakes {
  readonly name: string;
  readonly takes: readonly Scenario[];
}

/** Those of `kubelet-node` that have no pods tell of the node alone. */
const tellsOfPods = ({ steps }: Scenario): boolean => steps.some(({ op }) => op === 'watch');

/** The scenarios in a folder's `kubelet-scenarios*.jsonl.gz` and `kubelet-node*.jsonl.gz`, by name. */
export function readScenarios(dir: string): readonly ScenarioTakes[] {
  const byName = new Map<string, Scenario[]>();
  const files = readdirSync(dir).filter((name) => /^kubelet-(scenarios|node).*\.jsonl\.gz$/.test(name));
  for (const file of files.sort()) {
    const lines = gunzipSync(readFileSync(join(dir, file)))
      .toString('utf8')
      .split('\n');
    for (const line of lines.filter((each) => each !== '')) {
      const scenario = JSON.parse(line) as Partial<Scenario>;
      if (scenario.id === undefined || scenario.steps === undefined) continue;
      if (!tellsOfPods(scenario as Scenario)) continue;
      const name = scenario.id.slice(scenario.id.indexOf('/') + 1);
      byName.set(name, [...(byName.get(name) ?? []), withTimesOfActs(scenario as Scenario)]);
    }
  }
  return [...byName].map(([name, takes]) => ({ name, takes }));
}

/** The namespace that a scenario makes for itself. */
export function namespaceOfScenario({ steps }: Scenario): string {
  const path = steps.find(({ path = '' }) => path.includes('/namespaces/'))?.path ?? '';
  return /\/namespaces\/([^/]+)/.exec(path)?.[1] ?? '';
}
