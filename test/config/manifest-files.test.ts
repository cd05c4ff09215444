import { expect, test } from 'vitest';
import {
  ManifestFiles,
  type ManifestFileSystem,
  type ManifestProblem,
  maxManifestBytes,
} from '../../src/config/manifest-files.ts';
import { decodeManifest, type DecodeManifest } from '../../src/config/static-pod.ts';

const manifest = (name: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: i}]}\n`;

const refuse = (code: string) => (): Promise<never> =>
  Promise.reject(Object.assign(new Error(`${code} itself`), { code }));

/** A directory of files by name; what is no text refuses with that code when it is read. */
function setUp(files: Record<string, string>, more: Partial<ManifestFileSystem> = {}, path = '/m') {
  const problems: ManifestProblem[] = [];
  const nameIn = (at: string): string => at.slice('/m/'.length);
  const fs: ManifestFileSystem = {
    kindOf: async (at) => (at === '/m' ? 'directory' : 'file'),
    namesIn: async () => Object.keys(files),
    readText: async (at) => files[nameIn(at)] ?? refuse('ENOENT')(),
    ...more,
  };
  const manifests = new ManifestFiles(
    { fs, onError: (problem) => problems.push(problem) },
    { path, nodeName: 'n' },
  );
  const names = async (
    outcome: ReturnType<ManifestFiles['list']>,
  ): Promise<readonly (string | undefined)[] | undefined> =>
    (await outcome).pods?.map(({ metadata }) => metadata?.name);
  return { files, manifests, names, problems };
}

test.for([
  ['EACCES', 'open /m/a: permission denied', 'let the agent read it'],
  ['EPERM', 'open /m/a: operation not permitted', 'let the agent read it'],
  ['EISDIR', 'read /m/a: is a directory', 'directories inside the manifest directory are not read'],
  ['ENOTDIR', 'open /m/a: not a directory', 'a part of the path is a file'],
  ['ELOOP', 'open /m/a: too many levels of symbolic links', 'the link leads back to itself'],
  ['EFBIG', 'the read limit is reached', 'a manifest is at most 10 MiB'],
  ['EIO', 'open /m/a: EIO itself', undefined],
] as const)(
  'a file that fails with %s is reported in the system’s words',
  async ([code, message, advice]) => {
    const { manifests, problems } = setUp({ a: '' }, { readText: refuse(code) });
    expect(await manifests.list()).toEqual({ pods: [] });
    expect(problems).toEqual([{ path: '/m/a', code, message, ...(advice && { advice }) }]);
  },
);

test('an error without a known code is reported as it is', async () => {
  for (const [reason, message] of [
    [new Error('broke'), 'open /m/a: broke'],
    [undefined, 'open /m/a: undefined'],
  ] as const) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- a file system may reject with anything
    const { manifests, problems } = setUp({ a: '' }, { readText: () => Promise.reject(reason) });
    await manifests.list();
    expect(problems).toEqual([{ path: '/m/a', code: 'UNKNOWN', message }]);
  }
});

test('no more is read of a file than a manifest may have', async () => {
  const limits: number[] = [];
  const readText = async (_path: string, maxBytes: number): Promise<string> => {
    limits.push(maxBytes);
    return manifest('a');
  };
  await setUp({ a: '' }, { readText }).manifests.list();
  expect(limits).toEqual([maxManifestBytes]);
  expect(maxManifestBytes).toBe(10_485_760);
});

test('the path that is not there is no pods, with advice; one that refuses is a fault and says nothing of pods', async () => {
  const { manifests, problems } = setUp({}, { kindOf: refuse('ENOENT') });
  expect((await manifests.list()).pods).toEqual([]);
  expect(problems).toEqual([
    {
      path: '/m',
      message: 'path does not exist, ignoring',
      advice: 'create the directory, or set staticPodPath to where the manifests are',
    },
  ]);
  const denied = setUp({}, { kindOf: refuse('EACCES') });
  expect((await denied.manifests.list()).pods).toBeUndefined();
  expect(denied.problems[0]?.message).toBe('stat /m: permission denied');
});

test('files are read in the order of their names, but for those with a dot; directories are left alone', async () => {
  const kindOf = async (at: string) => (at === '/m' || at === '/m/d' ? 'directory' : 'file');
  const files = { b: manifest('b'), '.hidden': 'no manifest', a: manifest('a'), d: '' };
  const { manifests, names, problems } = setUp(files, { kindOf });
  expect(await names(manifests.list())).toEqual(['a-n', 'b-n']);
  expect(problems).toEqual([]);
});

test('two manifests of one pod are named, with the last file as the place', async () => {
  const { manifests, names, problems } = setUp({
    b: manifest('web'),
    a: manifest('web'),
    c: manifest('other'),
  });
  expect(await names(manifests.list())).toEqual(['web-n', 'other-n']);
  expect(problems).toEqual([
    {
      path: '/m/b',
      message: 'the pod default/web-n is defined more than once, in /m/a and /m/b: the last one counts',
      advice: 'give each manifest its own metadata.name',
    },
  ]);
});

test('an event changes one pod of those known; a name with a dot is no event', async () => {
  const { files, manifests, names, problems } = setUp({ a: manifest('a') });
  await manifests.list();
  files['b'] = manifest('b');
  expect(await names(manifests.handle(['CREATE'], 'b'))).toEqual(['a-n', 'b-n']);
  expect(await names(manifests.handle(['CHMOD'], '/m/b'))).toEqual(['a-n', 'b-n']);
  expect(await manifests.handle(['WRITE'], '.b')).toEqual({});
  expect(await names(manifests.handle(['REMOVE'], 'a'))).toEqual(['b-n']);
  expect(await manifests.handle(['REMOVE'], 'a'), 'what is gone is gone').toEqual({});
  expect(await manifests.handle(['RENAME'], 'never-seen')).toEqual({});
  expect(problems).toEqual([]);
  files['b'] = 'nonsense';
  const { fault } = await manifests.handle(['WRITE'], 'b');
  expect(fault?.message).toMatch(/^can't process config file "\/m\/b": \/m\/b: couldn't parse as pod\(/);
  expect(problems.map(({ path }) => path)).toEqual(['/m/b']);
});

/** A directory whose manifests are decoded by the real decoder, with a note of each time. */
function setUpCounted(files: Record<string, string>) {
  const decoded: string[] = [];
  const fs: ManifestFileSystem = {
    kindOf: async (at) => (at === '/m' ? 'directory' : 'file'),
    namesIn: async () => Object.keys(files),
    readText: async (at) => files[at.slice('/m/'.length)] ?? refuse('ENOENT')(),
  };
  const problems: string[] = [];
  const onError = ({ message }: ManifestProblem): void => void problems.push(message);
  const broken = { now: false };
  const decode: DecodeManifest = async (kind, text, origin) => {
    decoded.push(origin.source);
    if (broken.now) throw new Error('no thread is left');
    return decodeManifest(kind, text, origin);
  };
  const manifests = new ManifestFiles({ fs, onError, decode }, { path: '/m', nodeName: 'n' });
  return { manifests, decoded, problems, broken };
}

test('an unchanged file is not decoded again: its pod is identical, its fault is reported again', async () => {
  const files: Record<string, string> = { a: manifest('a'), b: 'a: [' };
  const { manifests, decoded, problems } = setUpCounted(files);
  const first = await manifests.list();
  const again = await manifests.list();
  await manifests.handle(['CHMOD'], 'a');
  expect(decoded).toEqual(['/m/a', '/m/b']);
  expect(again.pods?.[0]).toBe(first.pods?.[0]);
  expect(problems).toHaveLength(2);
  expect(problems[1]).toBe(problems[0]);
  files['a'] = manifest('other');
  await manifests.list();
  expect(decoded.slice(2)).toEqual(['/m/a']);
});

test('what is known of files that went is forgotten', async () => {
  const files: Record<string, string> = { a: manifest('a'), b: manifest('b') };
  const { manifests, decoded } = setUpCounted(files);
  await manifests.list();
  await manifests.handle(['REMOVE'], 'a');
  delete files['b'];
  await manifests.list();
  files['b'] = manifest('b');
  await manifests.list();
  expect(decoded).toEqual(['/m/a', '/m/b', '/m/a', '/m/b']);
});

test('a failing decoder is reported, and retried at the next listing', async () => {
  const { manifests, problems, broken } = setUpCounted({ a: manifest('a') });
  broken.now = true;
  expect(await manifests.list()).toEqual({ pods: [] });
  expect(problems).toEqual(['no thread is left']);
  broken.now = false;
  expect((await manifests.list()).pods).toHaveLength(1);
});
