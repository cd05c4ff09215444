import { type ManifestAnswer, ManifestUrl } from '../../../config/manifest-url.ts';
import { check, type Replay } from '../recording.ts';
import { sent } from '../support/sent-pods.ts';

interface Step {
  readonly op: { readonly status?: number; readonly body?: string; readonly transportError?: boolean };
  readonly expect: {
    readonly error?: string;
    readonly failed: boolean;
    readonly updates?: Parameters<typeof sent>[1][];
  };
}

/** Answers of one URL; the lists that were sent and the words of each failure. */
export const replay: Replay = async (line) => {
  let answer: ManifestAnswer | undefined;
  const url = new ManifestUrl(
    async () => {
      if (!answer) throw new Error('unexpected EOF');
      return answer;
    },
    { url: 'http://h/x', nodeName: 'node1' },
  );
  for (const [step, { op, expect }] of (line['steps'] as Step[]).entries()) {
    answer = op.transportError ? undefined : { status: op.status ?? 0, body: op.body ?? '' };
    const { pods, fault } = await url.poll();
    const recorded = expect.updates ?? [];
    const actual = {
      failed: fault !== undefined,
      // the words of a transport failure are Go's own
      error: op.transportError ? expect.error : fault?.message,
      updates: pods ? [sent(pods, recorded[0])] : [],
      count: pods ? 1 : 0,
    };
    const mismatch = check({ ...expect, count: recorded.length }, actual, { step, operation: op });
    if (mismatch) return mismatch;
  }
  return undefined;
};
