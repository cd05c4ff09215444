import type { Container, ContainerStatus, Pod, PodSpec } from '../../kube/types.ts';
import { type Clause, expect, needing, type Trial } from '../subject.ts';
import type { TrialNode } from '../trial-node.ts';

const area = 'probes';

const needs: NonNullable<Clause['needs']> = (world) => {
  const { provider, lacks = [] } = world;
  if (provider.probedBy === 'provider') return needing(['probes'])(world);
  return lacks.includes('exec') || !provider.execSync ? 'execSync' : undefined;
};

const needsRestarts: NonNullable<Clause['needs']> = (world) =>
  needs(world) ??
  (world.useProbes || world.provider.probedBy === 'provider'
    ? undefined
    : 'useProbes: restarts on failed probes');

type Probes = Pick<Container, 'readinessProbe' | 'livenessProbe' | 'startupProbe'>;
type Probe = NonNullable<Probes['readinessProbe']>;

/** A probe each second whose command ends with `exitCode`. */
const probe = (exitCode: number, more: Partial<Probe> = {}): Probe => ({
  exec: { command: ['/bin/sh', '-c', `exit ${exitCode}`] },
  periodSeconds: 1,
  failureThreshold: 1,
  timeoutSeconds: 30,
  ...more,
});

/** A pod whose `main` has probes whose commands all end with `exitCode`. */
function probed(
  t: Trial,
  exitCode: number,
  probes: Probes,
  { name, ...spec }: Partial<PodSpec> & { readonly name?: string } = {},
): Pod {
  const behaviour = exitCode === 0 ? {} : { execExitCode: exitCode };
  return t.behaving(t.pod({ containers: [{ ...t.container('main'), ...probes }], ...spec }, name), behaviour);
}

const mainOf = (pod: Pod | undefined): ContainerStatus | undefined =>
  pod?.status?.containerStatuses?.find(({ name }) => name === 'main');

const isReady = (pod: Pod | undefined): boolean =>
  pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

const summary = (pod: Pod | undefined): string => {
  const { ready, started, restartCount, state } = mainOf(pod) ?? {};
  return `main is ${Object.keys(state ?? {}).join() || 'absent'}, ready ${ready ?? 'unknown'}, started ${started ?? 'unknown'}, restarted ${restartCount ?? 0} times`;
};

/** Waits until the pod at the API server fulfils a condition. */
const shows = (node: TrialNode, pod: Pod, holds: (pod: Pod | undefined) => boolean, withinMs?: number) =>
  node.until(
    () => holds(node.pod(pod)),
    () => summary(node.pod(pod)),
    withinMs,
  );

/** How long `main` has been running, ms; up to a second more, as the API has whole seconds. */
const ranMs = (t: Trial, pod: Pod | undefined): number =>
  t.now() - Date.parse(mainOf(pod)?.state?.running?.startedAt ?? '');

const runs = (pod: Pod | undefined): boolean => mainOf(pod)?.state?.running !== undefined;

export const probes: readonly Clause[] = [
  {
    name: 'readiness-decides',
    area,
    rule: 'R216',
    law: 'A pod whose readiness probe fails runs, is never ready, and is not restarted.',
    needs,
    async check(t) {
      const node = await t.node();
      const pod = node.create(probed(t, 1, { readinessProbe: probe(1) }));
      await shows(node, pod, runs);
      for (let second = 0; second < 4; second++) {
        await t.pass(1000);
        const seen = node.pod(pod);
        const fits = !isReady(seen) && mainOf(seen)?.ready === false && mainOf(seen)?.restartCount === 0;
        expect(fits, () => summary(seen));
      }
    },
  },
  {
    name: 'ready-after-the-probe',
    area,
    rule: 'R236',
    law: 'A pod becomes ready when its readiness probe has succeeded as often as its successThreshold says, and not before its delay.',
    needs,
    async check(t) {
      const node = await t.node();
      await t.patiently([3000, 15_000, 40_000], async (ms) => {
        const readinessProbe = probe(0, { initialDelaySeconds: ms / 1000, successThreshold: 2 });
        const pod = node.create(probed(t, 0, { readinessProbe }, { name: `after-${ms}` }));
        await shows(node, pod, runs);
        const early = node.pod(pod);
        const ran = ranMs(t, early);
        if (isReady(early) && ran >= ms + 1000) return false;
        expect(!isReady(early), () => `${ran} ms after its start ${summary(early)}`);
        await shows(node, pod, isReady, ms + t.soonMs);
        const took = ranMs(t, node.pod(pod));
        expect(
          took >= ms + 1000,
          () => `it was ready ${took} ms after its start, with a delay of ${ms} ms and 2 successes`,
        );
        return true;
      });
    },
  },
  {
    name: 'startup-holds-the-others',
    area,
    rule: 'R238',
    law: 'While the startup probe has not succeeded the container is not started, and no readiness probe makes it ready.',
    needs,
    async check(t) {
      const node = await t.node();
      const startupProbe = probe(1, { failureThreshold: 100 });
      const pod = node.create(probed(t, 1, { startupProbe, readinessProbe: probe(1) }));
      await shows(node, pod, runs);
      await t.pass(4000);
      const main = mainOf(node.pod(pod));
      expect(main?.started === false && !main.ready && main.restartCount === 0, () => summary(node.pod(pod)));
    },
  },
  {
    name: 'started-after-the-probe',
    area,
    rule: 'R238',
    law: 'A container is started once its startup probe has succeeded, and then ready.',
    needs,
    async check(t) {
      const node = await t.node();
      await t.patiently([2000, 10_000, 40_000], async (ms) => {
        const startupProbe = probe(0, { initialDelaySeconds: ms / 1000 });
        const probes = { startupProbe, readinessProbe: probe(0) };
        const pod = node.create(probed(t, 0, probes, { name: `started-${ms}` }));
        await shows(node, pod, runs);
        const early = node.pod(pod);
        const isEarly = mainOf(early)?.started === false;
        if (!isEarly && ranMs(t, early) >= ms) return false;
        expect(isEarly, () => `at its start ${summary(early)}`);
        await shows(node, pod, (seen) => mainOf(seen)?.started === true && isReady(seen), ms + t.soonMs);
        return true;
      });
    },
  },
  {
    name: 'liveness-restarts',
    area,
    rule: 'R176',
    law: 'A container whose liveness probe fails failureThreshold times in a row is restarted, not sooner.',
    needs: needsRestarts,
    async check(t) {
      const node = await t.node();
      const livenessProbe = probe(1, { failureThreshold: 3 });
      const pod = node.create(probed(t, 1, { livenessProbe }, { terminationGracePeriodSeconds: 1 }));
      await shows(node, pod, (seen) => (mainOf(seen)?.restartCount ?? 0) > 0);
      const last = mainOf(node.pod(pod))?.lastState?.terminated;
      const lived = Date.parse(last?.finishedAt ?? '') - Date.parse(last?.startedAt ?? '');
      expect(lived >= 2000, () => `it was ended ${lived} ms after its start, with 3 probes, one each second`);
    },
  },
  {
    name: 'failed-startup-restarts',
    area,
    rule: 'R176',
    law: 'A container whose startup probe fails failureThreshold times in a row is restarted.',
    needs: needsRestarts,
    async check(t) {
      const node = await t.node();
      const startupProbe = probe(1, { failureThreshold: 2 });
      const pod = node.create(probed(t, 1, { startupProbe }, { terminationGracePeriodSeconds: 1 }));
      await shows(node, pod, (seen) => (mainOf(seen)?.restartCount ?? 0) > 0);
    },
  },
];
