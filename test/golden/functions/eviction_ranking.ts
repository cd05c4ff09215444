import { evictionMessage } from '../../../src/eviction/message.ts';
import { pressuresOf, thresholdsMet } from '../../../src/eviction/assess.ts';
import { observationsOf } from '../../../src/eviction/observations.ts';
import { rankPods } from '../../../src/eviction/ranking.ts';
import type { Signal, StarvedResource } from '../../../src/eviction/signals.ts';
import { statsByUid, type StatsSummary } from '../../../src/kube/stats-summary.ts';
import { nameOf } from '../../../src/kube/names.ts';
import { formatQuantity } from '../../../src/kube/resources/quantity.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';
import {
  recordedViews,
  type RecordedThreshold,
  thresholdFrom,
  thresholdViews,
} from '../support/evictions.ts';

interface Input {
  readonly pods: readonly Pod[] | null;
  readonly summary: StatsSummary;
  readonly thresholds: readonly RecordedThreshold[] | null;
}

interface Output {
  readonly rank: Readonly<Record<string, readonly string[]>>;
  readonly messages: Readonly<Record<string, unknown>>;
  readonly met: readonly RecordedThreshold[];
  readonly metWithMinReclaim: readonly RecordedThreshold[];
}

export const replay: Replay = ({ in: input, out }) => {
  const { summary, ...given } = input as Input;
  const recorded = out as Output;
  const pods = given.pods ?? [];
  const thresholds = (given.thresholds ?? []).map(thresholdFrom);
  const [observations, stats] = [observationsOf(summary), statsByUid(summary)];
  const met = thresholdsMet(thresholds, observations, false);
  const rank = (key: string): readonly string[] => {
    const [signal = '', imageFs, split] = key.split('|');
    const layout = { dedicatedImageFs: imageFs === 'true', splitContainerFs: split === 'true' };
    return rankPods(pods, stats, signal as Signal, layout).map(nameOf);
  };
  const message = (key: string): unknown => {
    const [name, resource = ''] = key.split('|');
    const pod = pods.find((each) => nameOf(each) === name) ?? {};
    return evictionMessage(resource as StarvedResource, pod, { stats, thresholds, observations });
  };
  const actual = {
    rank: mapKeys(recorded.rank, rank),
    messages: mapKeys(recorded.messages, message),
    met: thresholdViews(met),
    metWithMinReclaim: thresholdViews(thresholdsMet(thresholds, observations, true)),
    nodeConditions: pressuresOf(thresholds),
    observations: Object.fromEntries(
      Object.entries(observations).map(([signal, { available, capacity }]) => [
        signal,
        { available: formatQuantity(available), capacity: formatQuantity(capacity) },
      ]),
    ),
  };
  const expected = {
    ...recorded,
    met: recordedViews(recorded.met),
    metWithMinReclaim: recordedViews(recorded.metWithMinReclaim),
  };
  return check(expected, actual);
};

const mapKeys = (record: object, of: (key: string) => unknown): object =>
  Object.fromEntries(Object.keys(record).map((key) => [key, of(key)]));
