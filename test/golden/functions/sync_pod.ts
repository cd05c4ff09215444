import { FakeClock, settle } from '../../../src/base/fake-clock.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { ContainerState, PodSandboxState } from '../../../src/provider/cri-messages.ts';
import type { SyncResult } from '../../../src/provider/provider.ts';
import { kubeRuntimeOver } from '../../support/kube-runtime.ts';
import { MemoryRuntime, nameOf } from '../../support/memory-runtime.ts';
import { check, type Replay } from '../harness.ts';

interface Step {
  readonly now: number;
  readonly changes?:
    | readonly {
        readonly container: string;
        readonly exitCode?: number;
        readonly reason?: string;
        readonly unknown?: boolean;
      }[]
    | null;
  readonly sandboxDown?: boolean;
  readonly gone?: boolean;
  readonly errors?: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly deleted?: boolean;
  readonly liveness?: Readonly<Record<string, 'Failure'>>;
}

const yearMs = 365 * 86_400_000;

/** Whole syncs, one after the other, over a runtime that keeps books. */
export const replay: Replay = async ({ in: given, out }) => {
  const input = given as { readonly pod: Pod; readonly steps: readonly Step[] };
  const start = Date.parse('2026-03-04T05:06:07Z');
  const clock = new FakeClock(start);
  let tick = 0;
  // the recorded runtime stamped stopped containers with the recording machine's time, far after the replayed one
  const runtime = new MemoryRuntime(
    () => clock.now() * 1e6 + ++tick * 1e4,
    () => (start + yearMs) * 1e6,
  );
  const { provider, events, liveness } = kubeRuntimeOver(runtime, clock);
  let { pod } = input;
  const ref = {
    uid: pod.metadata?.uid ?? '',
    name: pod.metadata?.name ?? '',
    namespace: pod.metadata?.namespace ?? '',
  };
  for (const [step, wanted] of input.steps.entries()) {
    clock.set(start + wanted.now * 1000);
    apply(runtime, wanted, clock.now());
    pod = changed(pod, wanted, clock.now());
    liveness.clear();
    const observed = await provider.getPodStatus(ref);
    for (const { id, name, state, restartCount } of observed.containerStatuses)
      if (state === 'running' && wanted.liveness?.[`${name}#${restartCount}`]) liveness.set(id, 'Failure');
    runtime.calls.length = events.length = 0;
    const request = { pod, observed, pullSecrets: [], restartAllContainers: false };
    const syncing = provider.syncPod(request, new AbortController().signal);
    await waitOut(clock, syncing);
    const { results } = await syncing;
    const actual = {
      calls: sortRuns(runtime.calls, 'StopContainer'),
      containers: [...runtime.containers.values()]
        .map(({ config, status }) => `${nameOf(config)}=${stateName(status.state)}`)
        .sort(),
      events: sortRuns(events.map(withoutTimes), 'Normal Killing'),
      results: sortRuns(results.map(textOf), 'KillContainer'),
    };
    const mismatch = check((out as Record<string, unknown>[])[step], actual, { step, operation: wanted });
    if (mismatch) return mismatch;
  }
  return undefined;
};

/** A sidecar waits for those that could not be stopped until its grace is over: the clock goes on while something waits on it. */
async function waitOut(clock: FakeClock, work: Promise<unknown>): Promise<void> {
  const state = { busy: true };
  const end = (): void => {
    state.busy = false;
  };
  work.then(end, end);
  await settle();
  while (state.busy && clock.pending > 0) await clock.advance(1000);
}

function apply(runtime: MemoryRuntime, step: Step, now: number): void {
  for (const { container, exitCode, reason, ...rest } of step.changes ?? [])
    for (const [id, { config }] of runtime.containers) {
      if (nameOf(config) !== container) continue;
      if (rest.unknown) runtime.change(id, { state: ContainerState.CONTAINER_UNKNOWN });
      else
        runtime.change(id, {
          state: ContainerState.CONTAINER_EXITED,
          exitCode: exitCode ?? 0,
          reason: reason ?? '',
          finishedAt: now * 1e6,
        });
    }
  const newest = [...runtime.sandboxes.keys()].at(-1);
  if (step.sandboxDown && newest) runtime.setSandboxState(newest, PodSandboxState.SANDBOX_NOTREADY);
  if (step.gone) runtime.containers.clear();
  runtime.failures.clear();
  for (const [call, text] of Object.entries(step.errors ?? {})) runtime.failures.set(call, text);
}

function changed(pod: Pod, { image, deleted }: Step, now: number): Pod {
  const [first, ...rest] = pod.spec?.containers ?? [];
  const containers = image && first ? [{ ...first, image }, ...rest] : (pod.spec?.containers ?? []);
  // as recorded: a deletion gives 7 s
  const deletion = deleted
    ? { deletionTimestamp: new Date(now).toISOString(), deletionGracePeriodSeconds: 7 }
    : {};
  return { ...pod, metadata: { ...pod.metadata, ...deletion }, spec: { ...pod.spec, containers } };
}

const stateName = (state: ContainerState | undefined): string =>
  Object.entries(ContainerState).find(([, value]) => value === (state ?? 0))?.[0] ?? '';

const withoutTimes = (event: string): string =>
  event.replace(/in \S+ \(\S+ including/, 'in DUR (DUR including');

const textOf = ({ action, target, reason = '', message = '' }: SyncResult): string =>
  `${action} ${target} error=${JSON.stringify(reason)} message=${JSON.stringify(message)}`;

/** Sorts each run of lines that begin alike: they happen at once. */
function sortRuns(lines: readonly string[], prefix: string): string[] {
  const sorted: string[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (lines[end]?.startsWith(prefix)) end++;
    if (end === at) sorted.push(lines[at++] ?? '');
    else {
      sorted.push(...lines.slice(at, end).toSorted());
      at = end;
    }
  }
  return sorted;
}
