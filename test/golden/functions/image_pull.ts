import { Backoff } from '../../../src/base/backoff.ts';
import { ImageManager } from '../../../src/containers/images/images.ts';
import { Slots } from '../../../src/base/slots.ts';
import { StartError } from '../../../src/containers/container/runtime-errors.ts';
import type { ImageService } from '../../../src/provider/container-runtime.ts';
import { check, type Replay } from '../harness.ts';

interface Step {
  readonly now: number;
  readonly present: boolean;
  readonly inspectError?: string;
  readonly pullError?: string;
}

/** One image manager over all attempts; the runtime answers as the attempt says. */
export const replay: Replay = async ({ in: given, out }) => {
  const { image, policy, steps } = given as { image: string; policy: string; steps: readonly Step[] };
  const clock = { now: () => seconds * 1000 };
  let seconds = 0;
  const calls: string[] = [];
  const runtime = { step: undefined as Step | undefined, pulled: false };
  const manager = new ImageManager({
    images: imagesFor(runtime, calls),
    clock,
    backoff: new Backoff(clock, { initialMs: 1000, maxMs: 60_000 }),
    slots: new Slots(1),
    keyring: () => [],
  });
  const actual = [];
  for (const step of steps) {
    seconds = step.now;
    Object.assign(runtime, { step, pulled: false });
    calls.length = 0;
    const events: string[] = [];
    const request = { pod: { metadata: { uid: 'u' } }, image, policy, secrets: [] };
    const result = await manager
      .ensureImageExists(request, (type, reason, message) => {
        events.push(
          `${type} ${reason} ${message}`.replace(/in \S+ \(\S+ including/, 'in DUR (DUR including'),
        );
      })
      .catch((reason: unknown) => {
        if (!(reason instanceof StartError)) throw reason;
        return { imageRef: '', message: reason.message, error: reason.reason };
      });
    actual.push({ calls: [...calls], events, ...result });
  }
  return check(out, actual, { operation: given });
};

function imagesFor(runtime: { step: Step | undefined; pulled: boolean }, calls: string[]): ImageService {
  const nothing = (): never => {
    throw new Error('not asked for');
  };
  return {
    imageStatus: async ({ image }) => {
      calls.push(runtime.pulled ? 'GetImageSize' : 'GetImageRef');
      if (runtime.pulled) return { image: { id: image?.image ?? '', size: 0 } };
      if (runtime.step?.inspectError && !runtime.step.present) throw new Error(runtime.step.inspectError);
      return runtime.step?.present ? { image: { id: image?.image ?? '' } } : {};
    },
    pullImage: async ({ image }) => {
      calls.push('PullImage');
      if (runtime.step?.pullError) throw new Error(runtime.step.pullError);
      runtime.pulled = true;
      return { imageRef: image?.image ?? '' };
    },
    listImages: nothing,
    removeImage: nothing,
    imageFsInfo: nothing,
  };
}
