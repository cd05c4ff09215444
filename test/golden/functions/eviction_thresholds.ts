import { messageOf } from '../../../src/base/errors.ts';
import { withContainerFsThresholds } from '../../../src/eviction/observations.ts';
import { parseThresholds, type ThresholdSettings } from '../../../src/eviction/thresholds.ts';
import { check, type Replay } from '../harness.ts';
import {
  recordedViews,
  type RecordedThreshold,
  thresholdFrom,
  thresholdViews,
} from '../support/evictions.ts';

interface ContainerFsInput {
  readonly op: 'containerfs';
  readonly imageFs: boolean;
  readonly splitContainerFs: boolean;
  readonly thresholds: readonly RecordedThreshold[];
}

function run(input: ContainerFsInput | (ThresholdSettings & { readonly op?: undefined })): object {
  if (input.op === 'containerfs') {
    const layout = { dedicatedImageFs: input.imageFs, splitContainerFs: input.splitContainerFs };
    const { thresholds, ignored } = withContainerFsThresholds(input.thresholds.map(thresholdFrom), layout);
    return { error: ignored, thresholds: thresholdViews(thresholds) };
  }
  try {
    return { error: null, thresholds: thresholdViews(parseThresholds(input), true) };
  } catch (reason) {
    return { error: messageOf(reason) };
  }
}

export const replay: Replay = ({ in: input, out }) => {
  const given = input as Parameters<typeof run>[0];
  const { error, thresholds } = out as { error: string | null; thresholds?: readonly RecordedThreshold[] };
  const expected = { error, thresholds: recordedViews(thresholds, given.op === undefined) };
  return check(expected, run(given), { operation: input });
};
