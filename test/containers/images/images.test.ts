import { expect, test } from 'vitest';
import { Backoff, imagePullBackoff } from '../../../src/base/backoff.ts';
import { FakeClock, settle } from '../../../src/base/fake-clock.ts';
import { withDefaultTag } from '../../../src/kube/image-reference.ts';
import { ImageManager, type ImageManagerDeps } from '../../../src/containers/images/images.ts';
import { Slots } from '../../../src/base/slots.ts';
import type { AuthConfig } from '../../../src/provider/cri-messages.ts';
import { MemoryRuntime } from '../../support/memory-runtime.ts';

test.for([
  ['busybox', 'busybox:latest'],
  ['busybox:1.36', 'busybox:1.36'],
  ['localhost:5000/x', 'localhost:5000/x:latest'],
  ['registry.example/a/b', 'registry.example/a/b:latest'],
  [`busybox@sha256:${'a'.repeat(64)}`, `busybox@sha256:${'a'.repeat(64)}`],
  [`a.b/c:1@sha256:${'0'.repeat(64)}`, `a.b/c:1@sha256:${'0'.repeat(64)}`],
] as const)('%s is asked for as %s', ([image, wanted]) => {
  expect(withDefaultTag(image)).toBe(wanted);
});

test.for([
  ['', 'invalid reference format'],
  ['Busybox', 'invalid reference format: repository name (library/Busybox) must be lowercase'],
  ['a.b/C', 'invalid reference format: repository name (C) must be lowercase'],
  ['a b', 'invalid reference format'],
  ['busybox:', 'invalid reference format'],
  ['f'.repeat(64), 'cannot specify 64-byte hexadecimal strings'],
  [`x@sha256:${'a'.repeat(32)}`, 'invalid checksum digest length'],
  [`x@md5:${'a'.repeat(32)}`, 'unsupported digest algorithm'],
  [`a.b/${'x'.repeat(260)}`, 'repository name must not be more than 255 characters'],
] as const)('%s is no image: %s', ([image, why]) => {
  expect(() => withDefaultTag(image)).toThrow(why);
});

function manager(overrides: Partial<ImageManagerDeps> = {}) {
  const clock = new FakeClock();
  const runtime = new MemoryRuntime(() => clock.now());
  const deps: ImageManagerDeps = {
    images: runtime,
    backoff: new Backoff(clock, imagePullBackoff),
    clock,
    slots: new Slots(1),
    keyring: () => [],
    ...overrides,
  };
  const request = { pod: { metadata: { uid: 'u' } }, image: 'busybox', policy: 'Always', secrets: [] };
  return { images: new ImageManager(deps), request, runtime, clock };
}

test('credentials are tried in order, and the error contains all failures', async () => {
  const tried: (AuthConfig | undefined)[] = [];
  const under = manager({ keyring: () => [{ auth: { username: 'a' } }, { auth: { username: 'b' } }] });
  Object.assign(under.runtime, {
    pullImage: async ({ auth }: { auth?: AuthConfig }) => {
      tried.push(auth);
      throw new Error(`${auth?.username ?? ''} is refused`);
    },
  });
  const failed = under.images.ensureImageExists(under.request, () => undefined);
  await expect(failed).rejects.toMatchObject({
    reason: 'ErrImagePull',
    message: '[a is refused, b is refused]',
  });
  expect(tried).toEqual([{ username: 'a' }, { username: 'b' }]);
});

test.for([
  [1, 1],
  [2, 2],
  [undefined, 3],
] as const)('with a limit of %s, %s of three pulls run at once', async ([limit, most]) => {
  const under = manager({ slots: new Slots(limit) });
  let [running, seen] = [0, 0];
  const finish: (() => void)[] = [];
  Object.assign(under.runtime, {
    pullImage: async () => {
      seen = Math.max(seen, ++running);
      await new Promise<void>((resolve) => finish.push(resolve));
      running--;
      return { imageRef: 'id' };
    },
  });
  const all = ['a', 'b', 'c'].map((image) =>
    under.images.ensureImageExists({ ...under.request, image }, () => undefined),
  );
  await settle();
  expect(running).toBe(most);
  while (finish.length > 0 || running > 0) {
    finish.shift()?.();
    await settle();
  }
  await Promise.all(all);
  expect(seen).toBe(most);
});

test('a pull that waits for its turn ends when it is cancelled, and the next one gets the turn', async () => {
  const under = manager({ slots: new Slots(1) });
  const pulled: string[] = [];
  const first = Promise.withResolvers<undefined>();
  Object.assign(under.runtime, {
    pullImage: async ({ image }: { readonly image: { readonly image: string } }) => {
      pulled.push(image.image);
      if (pulled.length === 1) await first.promise;
      return { imageRef: 'id' };
    },
  });
  const pull = (image: string, signal?: AbortSignal): Promise<unknown> =>
    under.images.ensureImageExists({ ...under.request, image }, () => undefined, signal);
  const running = pull('a');
  const cancel = new AbortController();
  const waiting = pull('b', cancel.signal);
  waiting.catch(() => undefined);
  const last = pull('c');
  await settle();
  cancel.abort(new Error('the pod was deleted'));
  await expect(waiting).rejects.toThrow('the pod was deleted');
  first.resolve(undefined);
  await Promise.all([running, last]);
  expect(pulled).toEqual(['a:latest', 'c:latest']);
});

test('a failed pull is not tried again before its back-off ends, 10 s at first', async () => {
  const under = manager();
  const attempt = (): Promise<unknown> =>
    under.images.ensureImageExists(under.request, () => undefined).catch((reason: unknown) => reason);
  under.runtime.failures.set('PullImage', 'no such image');
  expect(await attempt()).toMatchObject({ reason: 'ErrImagePull', message: 'no such image' });
  under.clock.set(9999);
  expect(await attempt()).toMatchObject({
    reason: 'ImagePullBackOff',
    message: 'Back-off pulling image "busybox": ErrImagePull: no such image',
  });
  under.clock.set(10_000);
  expect(await attempt()).toEqual({ imageRef: 'busybox:latest', message: '' });
});
