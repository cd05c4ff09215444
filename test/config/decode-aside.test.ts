import { expect, test } from 'vitest';
import { decodingAside } from '../../src/config/decode-aside.ts';
import { decodeManifest, type ManifestOrigin } from '../../src/config/static-pod.ts';

const origin: ManifestOrigin = { source: '/m/a', isFile: true, nodeName: 'n' };
const decodeAside = decodingAside();
const padding = `# ${'x'.repeat(200_000)}\n`;
const pod = 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n';

test.for([
  ['Pod', pod],
  ['PodList', `apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n`],
  ['Pod', 'apiVersion: v1\nkind: Service\n'],
] as const)(
  'a large manifest gives what a small one gives, by way of a thread (%s)',
  async ([kind, text]) => {
    const small = decodeAside(kind, text, origin);
    const large = decodeAside(kind, text + padding, origin);
    expect(large).toBeInstanceOf(Promise);
    expect(await large).toEqual(small);
    expect(small).toEqual(decodeManifest(kind, text, origin));
  },
);

test('a manifest that takes more memory than there is fails alone', async () => {
  const text = pod + Array.from({ length: 20_000 }, (_, at) => `key${at}: [{}, {}]\n`).join('');
  await expect(decodingAside({ maxOldGenerationSizeMb: 8 })('Pod', text, origin)).rejects.toMatchObject({
    code: 'resource_exhausted',
    message: expect.stringContaining('reaching memory limit') as unknown,
  });
});
