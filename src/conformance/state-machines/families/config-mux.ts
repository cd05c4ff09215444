import { Subject } from 'rxjs';
import { FakeClock } from '../../../base/fake-clock.ts';
import { silentLogger } from '../../../base/logger.ts';
import type { PodUpdate, SourceSnapshot } from '../../../config/pod-update.ts';
import { type PodSource, uidOf } from '../../../kube/names.ts';
import type { Pod } from '../../../kube/types.ts';
import { apiOptionalKeys } from '../compare.ts';
import { check, type Replay } from '../recording.ts';

interface Step {
  readonly at: number;
  readonly op:
    | { readonly op: 'addSource'; readonly source: PodSource }
    | { readonly op: 'set'; readonly source: PodSource; readonly pods?: readonly Pod[] };
  readonly expect: Readonly<Record<string, unknown>>;
}

/** Sources added, lists delivered, batches, readiness, warnings and observations compared. */
export const replay: Replay = async (line, header, machines) => {
  const start = Date.parse(String(header['clockStart']));
  const clock = new FakeClock(start);
  const seen: { updates: PodUpdate[]; events: string[]; observed: string[] } = {
    updates: [],
    events: [],
    observed: [],
  };
  const config = machines.podConfig({
    clock,
    logger: silentLogger,
    recorder: {
      event: (_pod, type, reason, message) => seen.events.push(`${type} ${reason} ${message}`),
    },
    observedOnWatch: (pod) => seen.observed.push(uidOf(pod)),
  });
  config.updates.subscribe((update) => seen.updates.push(update));
  const inputs = new Map<PodSource, Subject<SourceSnapshot>>();
  const emitted = new Set<string>();
  for (const [step, { at, op, expect }] of (line['steps'] as Step[]).entries()) {
    await clock.advance(start + at * 1000 - clock.now());
    Object.assign(seen, { updates: [], events: [], observed: [] });
    if (op.op === 'addSource') {
      const input = new Subject<SourceSnapshot>();
      inputs.set(op.source, input);
      config.addSource(op.source, input);
    } else inputs.get(op.source)?.next({ source: op.source, pods: op.pods ?? [] });
    for (const update of seen.updates) emitted.add(update.source);
    const actual = {
      updates: seen.updates.map(sortRemoved),
      events: seen.events,
      observedOnWatch: seen.observed,
      seenAllSources: {
        none: config.seenAllSources(new Set()),
        emitted: config.seenAllSources(emitted),
        all: config.seenAllSources(new Set(['file', 'http', 'api'])),
      },
    };
    const mismatch = check(expect, actual, { step, operation: op }, { optionalKeys: apiOptionalKeys });
    if (mismatch) return mismatch;
  }
  return undefined;
};

const sortRemoved = (update: PodUpdate): PodUpdate =>
  update.op === 'REMOVE'
    ? { ...update, pods: update.pods.toSorted((a, b) => (uidOf(a) < uidOf(b) ? -1 : 1)) }
    : update;
