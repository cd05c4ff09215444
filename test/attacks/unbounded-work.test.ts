import { expect, test } from 'vitest';
import { AgentError } from '../../src/base/errors.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { makeEnvironment } from '../../src/containers/envvars/environment.ts';
import { expand, expandAll, mostExpanded } from '../../src/kube/expansion.ts';
import type { Pod } from '../../src/kube/types.ts';
import { MemoryProvider } from '../../src/providers/memory/index.ts';
import { emptyPodStatus } from '../../src/provider/runtime-pod.ts';

// Sizes are such that work of a higher order than the size's would take minutes: no test looks at a clock.

test('what is opened and never closed is looked through once', () => {
  const text = '$('.repeat(1_500_000);
  expect(expand(text, () => 'x')).toBe(text);
});

test('closed names before what is never closed are expanded all the same', () => {
  expect(expand('$(A)$(', () => 'x')).toBe('x$(');
  expect(expand('$(A$(B)', (name) => name)).toBe('A$(B');
});

const envOf = (env: readonly { readonly name: string; readonly value: string }[]): unknown => {
  const container = { name: 'c', image: 'i', env };
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'ns' },
    spec: { containers: [container], enableServiceLinks: false },
  };
  return makeEnvironment(pod, container, {
    configMap: () => undefined,
    secret: () => undefined,
    services: [],
    servicesSynced: true,
    nodeAllocatable: {},
    hostIps: [],
    podIps: [],
  });
};

const refusal = (act: () => unknown): AgentError => {
  try {
    act();
  } catch (reason) {
    return reason as AgentError;
  }
  throw new Error('it was not refused');
};

test('variables that double each other are refused with a reason', () => {
  const env = Array.from({ length: 64 }, (_unused, i) => ({
    name: `V${i}`,
    value: i === 0 ? 'x'.repeat(1000) : `$(V${i - 1})$(V${i - 1})`,
  }));
  const reason = refusal(() => envOf(env));
  expect(reason).toBeInstanceOf(AgentError);
  expect([reason.code, reason.message]).toEqual([
    'invalid_argument',
    `the variables make more than ${mostExpanded} characters of it, which no program can be started with`,
  ]);
});

test('so are many that each repeat a large one', () => {
  const large = { name: 'LARGE', value: 'x'.repeat(1_000_000) };
  const env = [large, ...Array.from({ length: 20 }, (_unused, i) => ({ name: `V${i}`, value: '$(LARGE)' }))];
  expect(refusal(() => envOf(env)).code).toBe('invalid_argument');
});

test('and words of a command that do', () => {
  const words = Array.from({ length: 10_000 }, () => '$(LARGE)');
  expect(refusal(() => expandAll(words, () => 'x'.repeat(100_000))).code).toBe('invalid_argument');
});

test('a text that is long by itself stays as it is', () => {
  const text = 'x'.repeat(mostExpanded + 1);
  expect(expandAll([text, '$(A)'], () => 'a')).toEqual([text, 'a']);
});

test('simulated pods of many containers start in one pass', async () => {
  const containers = Array.from({ length: 6000 }, (_unused, i) => ({ name: `c${i}`, image: 'i' }));
  const inits = Array.from({ length: 6000 }, (_unused, i) => ({ name: `i${i}`, image: 'i' }));
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'ns', uid: 'u' },
    spec: { containers, initContainers: inits },
  };
  const provider = new MemoryProvider({ clock: new FakeClock(0) });
  const observed = emptyPodStatus({ uid: 'u', name: 'p', namespace: 'ns' });
  const { signal } = new AbortController();
  const started = await provider.syncPod({ pod, observed } as never, signal);
  expect(started.results).toHaveLength(12_000);
  const status = await provider.getPodStatus({ uid: 'u', name: 'p', namespace: 'ns' });
  expect(status.containerStatuses).toHaveLength(12_000);
  expect((await provider.syncPod({ pod, observed } as never, signal)).results).toEqual([]);
});
