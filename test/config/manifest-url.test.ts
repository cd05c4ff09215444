import { expect, test } from 'vitest';
import { type FetchManifest, ManifestUrl } from '../../src/config/manifest-url.ts';
import { decodeManifest } from '../../src/config/static-pod.ts';

const manifest =
  'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n';

const polling = (fetch: FetchManifest): ManifestUrl =>
  new ManifestUrl(fetch, { url: 'http://h/m', nodeName: 'n' });
const answering = (body: string, status = 200): ManifestUrl => polling(async () => ({ status, body }));

test('asks with its headers and for no more than 10 MiB', async () => {
  const asked: unknown[] = [];
  const fetch: FetchManifest = async (...given) => {
    asked.push(given);
    return { status: 200, body: manifest };
  };
  await polling(fetch).poll();
  await new ManifestUrl(fetch, { url: 'http://h/m', nodeName: 'n', headers: { A: ['1'] } }).poll();
  expect(asked).toEqual([
    ['http://h/m', { headers: {}, maxBytes: 10_485_760 }],
    ['http://h/m', { headers: { A: ['1'] }, maxBytes: 10_485_760 }],
  ]);
});

test('pods from a URL need not stay on a node with problems, as those from files do', async () => {
  const { pods } = await answering(manifest).poll();
  expect(pods?.map(({ metadata, spec }) => [metadata?.name, spec?.tolerations])).toEqual([
    ['web-n', undefined],
  ]);
});

test.for([
  {
    says: 'an empty answer',
    body: '',
    status: 200,
    message: 'zero-length data received from http://h/m',
    pods: [],
  },
  { says: 'an error', body: 'x', status: 404, message: 'http://h/m: 404 Not Found', pods: undefined },
  { says: 'an error without a name', body: 'x', status: 599, message: 'http://h/m: 599 ', pods: undefined },
])('$says is a fault', async ({ body, status, message, pods }) => {
  const outcome = await answering(body, status).poll();
  expect(outcome.fault?.message).toBe(message);
  expect(outcome.pods).toEqual(pods);
});

test('an error is reported in the server’s words, if it has any', async () => {
  const { fault } = await polling(async () => ({ status: 404, statusText: 'Nope', body: 'x' })).poll();
  expect(fault?.message).toBe('http://h/m: 404 Nope');
});

test('what is neither a pod nor a list is reported with both reasons and the position', async () => {
  const { fault } = await answering('apiVersion: v1\nkind: Deployment\n').poll();
  expect(fault?.message).toBe(
    "http://h/m: received 'apiVersion: v1\nkind: Deployment\n', but couldn't parse as single " +
      '(no kind "Deployment" is registered for version "v1") or multiple pods (no kind "Deployment" is registered for version "v1")',
  );
  expect(fault).toMatchObject({ line: 2, advice: 'a manifest holds apiVersion: v1 and kind: Pod' });
});

test('a server that does not answer is a fault with advice', async () => {
  const { fault } = await polling(() => Promise.reject(new Error('down'))).poll();
  expect(fault).toEqual({ message: 'Get "http://h/m": down', advice: 'is the server up?' });
});

test('a failing decoder is reported, and retried although the bytes are the same', async () => {
  const failing = { now: true };
  const source = new ManifestUrl(
    async () => ({ status: 200, body: manifest }),
    { url: 'http://h/m', nodeName: 'n' },
    async (...order) => {
      if (failing.now) throw new Error('no thread is left');
      return decodeManifest(...order);
    },
  );
  expect(await source.poll()).toEqual({ fault: { message: 'http://h/m: no thread is left' } });
  failing.now = false;
  expect((await source.poll()).pods).toHaveLength(1);
  expect(await source.poll()).toEqual({});
});
