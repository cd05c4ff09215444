import { FakeClock } from '../../../base/fake-clock.ts';
import { systemRandom } from '../../../base/random.ts';
import { uidOf } from '../../../kube/names.ts';
import type { Pod, PodStatus } from '../../../kube/types.ts';
import { ProbeManager } from '../../../prober/probe-manager.ts';
import { type ProbeCall, Prober } from '../../../prober/prober.ts';
import type { ProbeType } from '../../../prober/update-pod-status.ts';
import { apiOptionalKeys } from '../compare.ts';
import { check, type Replay } from '../recording.ts';
import { allHandlers, answerFor, spelled } from '../support/probes.ts';

interface Operation {
  readonly op: string;
  readonly ms?: number;
  readonly uid?: string;
  readonly pod?: Pod;
  readonly status?: PodStatus | null;
  readonly probe?: string;
  readonly outcome?: string;
  readonly keep?: readonly string[] | null;
}

interface Step {
  readonly atMs: number;
  readonly op: Operation;
  readonly expect: Readonly<Record<string, unknown>>;
}

interface Timed {
  readonly atMs: number;
}

class World {
  readonly clock = new FakeClock(Date.parse('2000-01-01T00:00:00Z'));
  readonly start = this.clock.now();
  readonly statuses = new Map<string, PodStatus>();
  readonly pods = new Map<string, Pod>();
  readonly outcomes = new Map<string, string>();
  probes: (Timed & Record<string, unknown>)[] = [];
  updates: (Timed & Record<string, unknown>)[] = [];
  events: (Timed & Record<string, unknown>)[] = [];
  readonly manager = new ProbeManager({
    clock: this.clock,
    random: systemRandom,
    statusOf: (uid) => this.statuses.get(uid),
    prober: new Prober(
      allHandlers(async (call) => this.run(call)),
      {
        event: (_object, type, reason, message) => {
          this.events.push({ ...this.now(), event: `${type} ${reason} ${message}` });
        },
      },
    ),
  });

  now(): Timed {
    return { atMs: this.clock.now() - this.start };
  }

  run({ target, containerId, timeoutMs }: ProbeCall): ReturnType<typeof answerFor> {
    const probe = `${uidOf(target.pod)}/${target.container.name}/${target.type}`;
    const outcome = this.outcomes.get(probe) ?? 'success';
    this.probes.push({ ...this.now(), probe, containerID: containerId, timeoutMs, outcome });
    return answerFor(outcome);
  }

  listen(): void {
    for (const type of ['liveness', 'readiness', 'startup'] satisfies ProbeType[])
      this.manager.results[type].updates.subscribe(({ containerId, result, podUid }) =>
        this.updates.push({
          ...this.now(),
          type,
          containerID: containerId,
          result: spelled[result],
          podUID: podUid,
        }),
      );
  }

  async perform(op: Operation): Promise<unknown> {
    if (op.pod) this.pods.set(uidOf(op.pod), op.pod);
    const pod = op.pod ?? this.pods.get(op.uid ?? '');
    if (op.op === 'advance') await this.clock.advance(op.ms ?? 0);
    if (op.op === 'setStatus')
      if (op.status) this.statuses.set(op.uid ?? '', op.status);
      else this.statuses.delete(op.uid ?? '');
    if (op.op === 'setOutcome') this.outcomes.set(op.probe ?? '', op.outcome ?? '');
    if (op.op === 'addPod' && pod) this.manager.addPod(pod);
    if (op.op === 'updatePodStatus' && pod) {
      const { status, probeNow } = this.manager.updatePodStatus(pod, op.status ?? {});
      this.manager.probeNow(uidOf(pod), probeNow);
      return status;
    }
    if (op.op === 'stopLivenessAndStartup' && pod) this.manager.stopLivenessAndStartup(pod);
    if (op.op === 'removePod' && pod) this.manager.removePod(pod);
    if (op.op === 'cleanupPods') this.manager.cleanupPods(new Set(op.keep ?? []));
    return undefined;
  }

  take(): Record<string, unknown> {
    const batch = {
      probes: sorted(this.probes, ({ probe }) => String(probe)),
      updates: sorted(this.updates, (u) => `${String(u['type'])} ${String(u['containerID'])}`),
      events: this.events.map(({ event }) => event).sort(),
      workers: [...this.manager.workers].sort(),
    };
    [this.probes, this.updates, this.events] = [[], [], []];
    return batch;
  }
}

const sorted = <T extends Timed>(list: readonly T[], name: (item: T) => string): readonly T[] =>
  list.toSorted((a, b) => a.atMs - b.atMs || (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : 0));

export const replay: Replay = async (line) => {
  const w = new World();
  w.listen();
  w.clock.set(w.start + (line['startMs'] as number));
  for (const [step, { op, expect }] of (line['steps'] as readonly Step[]).entries()) {
    await w.clock.advance(0);
    const status = await w.perform(op);
    await w.clock.advance(1);
    const actual = { ...w.take(), status };
    const mismatch = check(expect, actual, { step, operation: op }, { optionalKeys: apiOptionalKeys });
    if (mismatch) return mismatch;
  }
  return undefined;
};
