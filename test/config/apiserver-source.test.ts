import { Subject, throwError } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import { apiServerSource } from '../../src/config/apiserver-source.ts';
import { type FileChange, fileSource, type FileSourceOptions } from '../../src/config/file-source.ts';
import { httpSource, type UrlProblem } from '../../src/config/http-source.ts';
import type { ManifestProblem } from '../../src/config/manifest-files.ts';
import type { ManifestAnswer } from '../../src/config/manifest-url.ts';
import type { SourceSnapshot } from '../../src/config/pod-update.ts';
import { nameOf } from '../../src/kube/names.ts';
import type { Pod } from '../../src/kube/types.ts';
import { MemoryFiles, refusal } from '../../src/conformance/state-machines/support/memory-files.ts';

const manifest = (name: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: i}]}\n`;
const names = ({ pods }: SourceSnapshot): string => pods.map(nameOf).join(' ');

function watchDirectory(options: Partial<FileSourceOptions> = {}, fs = new MemoryFiles()) {
  const clock = new FakeClock();
  const errors: ManifestProblem[] = [];
  const seen: string[] = [];
  const watches: { at: number; changes: Subject<FileChange> }[] = [];
  const watch = () => {
    const changes = new Subject<FileChange>();
    watches.push({ at: clock.now(), changes });
    return changes;
  };
  const source = fileSource(
    { fs, clock, watch, onError: (problem) => errors.push(problem) },
    { path: '/m', nodeName: 'n', ...options },
  );
  const subscription = source.subscribe((snapshot) => seen.push(names(snapshot)));
  return { clock, errors, seen, watches, fs, subscription };
}

describe('file source', () => {
  test('lists at once and every 20 s (R19)', async () => {
    const fs = new MemoryFiles();
    fs.write('/m/a.yaml', manifest('a'));
    const { seen, clock } = watchDirectory({}, fs);
    await settle();
    fs.write('/m/b.yaml', manifest('b'));
    await clock.advance(19_999);
    expect(seen).toEqual(['a-n']);
    await clock.advance(1);
    expect(seen).toEqual(['a-n', 'a-n b-n']);
  });

  test('reads on a change in between', async () => {
    const { fs, seen, watches } = watchDirectory();
    fs.mkdir('/m');
    await settle();
    fs.write('/m/a.yaml', manifest('a'));
    watches[0]?.changes.next({ events: ['CREATE'], file: '/m/a.yaml' });
    await settle();
    watches[0]?.changes.next({ events: ['REMOVE'], file: '/m/a.yaml' });
    await settle();
    expect(seen).toEqual(['', 'a-n', '']);
  });

  test('a directory that vanishes and comes back is watched again, after 1 s, 2 s, 4 s…', async () => {
    const { clock, watches, subscription } = watchDirectory();
    await settle();
    watches[0]?.changes.error(new Error('gone'));
    await clock.advance(1_000);
    watches[1]?.changes.error(new Error('gone'));
    await clock.advance(2_000);
    expect(watches.map(({ at }) => at)).toEqual([0, 1_000, 3_000]);
    subscription.unsubscribe();
    expect(watches[2]?.changes.observed).toBe(false);
  });

  test('each invalid file is reported with its path, and the others are processed (R21)', async () => {
    const fs = new MemoryFiles();
    fs.write('/m/bad.yaml', 'a: [');
    fs.write('/m/big.yaml', 'x'.repeat(11 * 1024 * 1024));
    fs.write('/m/good.yaml', manifest('good'));
    fs.write('/m/kind.yaml', 'apiVersion: v1\nkind: Service\n');
    fs.write('/m/zero.bin', '\0\0');
    fs.mkdir('/m/sub');
    const { seen, errors } = watchDirectory({}, fs);
    await settle();
    expect(seen).toEqual(['good-n']);
    expect(errors.map(({ path, line, message }) => `${path}:${line ?? ''} ${message}`)).toEqual([
      "/m/bad.yaml:1 /m/bad.yaml: couldn't parse as pod(yaml: line 1: did not find expected node content), please check config file",
      '/m/big.yaml: the read limit is reached',
      "/m/kind.yaml:2 /m/kind.yaml: couldn't parse as pod(invalid pod: the manifest is a v1 Service), please check config file",
      "/m/zero.bin: /m/zero.bin: couldn't parse as pod(yaml: control characters are not allowed), please check config file",
    ]);
  });

  test('two manifests of one name: the last file counts, and both are named', async () => {
    const fs = new MemoryFiles();
    fs.write('/m/a.yaml', manifest('web'));
    fs.write('/m/b.yaml', manifest('web'));
    const { seen, errors } = watchDirectory({}, fs);
    await settle();
    expect(seen).toEqual(['web-n']);
    expect(errors).toMatchObject([
      {
        path: '/m/b.yaml',
        message:
          'the pod default/web-n is defined more than once, in /m/a.yaml and /m/b.yaml: the last one counts',
      },
    ]);
  });

  test.for([
    [false, ['web-n', '']],
    [true, ['web-n', 'web-n']],
  ] as const)('a manifest that turns bad, keepLastGood %s', async ([keepLastGood, expected]) => {
    const fs = new MemoryFiles();
    fs.write('/m/web.yaml', manifest('web'));
    const { seen, clock } = watchDirectory({ keepLastGood }, fs);
    await settle();
    fs.write('/m/web.yaml', 'kind: [');
    await clock.advance(20_000);
    expect(seen).toEqual(expected);
  });

  test.for([
    [false, ['web-n']],
    [true, ['web-n', 'web-n']],
  ] as const)('a single manifest file that turns bad, keepLastGood %s', async ([keepLastGood, expected]) => {
    const fs = new MemoryFiles();
    fs.write('/m/web.yaml', manifest('web'));
    const { seen, clock, errors } = watchDirectory({ path: '/m/web.yaml', keepLastGood }, fs);
    await settle();
    fs.write('/m/web.yaml', 'kind: [');
    await clock.advance(20_000);
    expect(seen).toEqual(expected);
    expect(errors).toHaveLength(1);
  });

  test.for([
    ['ENOENT', 'path does not exist, ignoring', ['']],
    ['EACCES', 'stat /m: permission denied', []],
    ['EXOTIC', 'stat /m: EXOTIC', []],
  ] as const)('a path that answers %s', async ([code, message, expected]) => {
    const fs = new MemoryFiles();
    fs.kindOf = () => Promise.reject(refusal(code));
    const { seen, errors } = watchDirectory({}, fs);
    await settle();
    expect(seen).toEqual(expected);
    expect(errors.map((problem) => problem.message)).toEqual([message]);
  });

  test('a directory that cannot be listed, an entry that cannot be looked at, an entry that is no file, a file that vanishes meanwhile', async () => {
    const fs = new MemoryFiles();
    fs.mkdir('/m');
    fs.namesIn = () => Promise.reject(refusal('EACCES'));
    const { errors, clock, seen } = watchDirectory({}, fs);
    await settle();
    fs.namesIn = async () => ['gone', 'locked', 'socket', 'vanished'];
    fs.kindOf = async (path) => {
      if (path === '/m/locked') throw refusal('EACCES');
      if (path === '/m/gone') throw refusal('ENOENT');
      return path === '/m/socket' ? ('other' as 'file') : path === '/m' ? 'directory' : 'file';
    };
    await clock.advance(20_000);
    expect(errors.map(({ path, message }) => `${path} ${message}`)).toEqual([
      '/m open /m: permission denied',
      '/m/locked stat /m/locked: permission denied',
      '/m/socket the entry is neither a file nor a directory',
    ]);
    expect(seen).toEqual(['']);
  });

  test('a path that is neither file nor directory', async () => {
    const fs = new MemoryFiles();
    fs.kindOf = async () => 'other' as 'file';
    const { errors } = watchDirectory({}, fs);
    await settle();
    expect(errors).toMatchObject([{ message: 'path is not a directory or file' }]);
  });
});

describe('HTTP source (R24)', () => {
  function poll(answers: (ManifestAnswer | Error)[]) {
    const clock = new FakeClock();
    const errors: UrlProblem[] = [];
    const seen: string[] = [];
    const fetch = async (): Promise<ManifestAnswer> => {
      const next = answers.shift() ?? new Error('no more');
      if (next instanceof Error) throw next;
      return next;
    };
    const source = httpSource(
      { clock, fetch, onError: (problem) => errors.push(problem) },
      { url: 'http://h/x', nodeName: 'n', periodMs: 5_000 },
    );
    const subscription = source.subscribe((snapshot) => seen.push(names(snapshot)));
    return { clock, errors, seen, subscription };
  }

  test('asks at once and each period; the same bytes are nothing new; failures are counted', async () => {
    const good = { status: 200, body: manifest('a') };
    const { clock, errors, seen, subscription } = poll([
      good,
      good,
      new Error('down'),
      { status: 503, body: '' },
      { status: 200, body: '' },
      good,
      { status: 200, body: manifest('b') },
    ]);
    for (let i = 0; i < 6; i++) await clock.advance(5_000);
    expect(seen).toEqual(['a-n', '', 'b-n']);
    expect(errors.map(({ failures, message }) => `${failures} ${message}`)).toEqual([
      '1 Get "http://h/x": down',
      '2 http://h/x: 503 Service Unavailable',
      '3 zero-length data received from http://h/x',
    ]);
    subscription.unsubscribe();
  });

  test('a list is taken where a single pod is not', async () => {
    const { clock, seen } = poll([{ status: 200, body: '{"apiVersion":"v1","kind":"PodList","items":[]}' }]);
    await clock.advance(0);
    expect(seen).toEqual(['']);
  });
});

describe('API source', () => {
  test('waits for the node, polling it, then emits the whole store after each event (R17, R18)', async () => {
    const clock = new FakeClock();
    let synced = false;
    let tell: ((pods: readonly Pod[]) => void) | undefined;
    let stopped = false;
    const seen: string[] = [];
    const pods = {
      onChange: (listener: typeof tell) => {
        tell = listener;
        return () => {
          stopped = true;
        };
      },
    };
    const subscription = apiServerSource({ clock, pods, nodeHasSynced: () => synced }).subscribe((snapshot) =>
      seen.push(names(snapshot)),
    );
    await clock.advance(2_500);
    expect(tell).toBeUndefined();
    synced = true;
    await clock.advance(500);
    tell?.([{ metadata: { name: 'a' } }]);
    tell?.([]);
    expect(seen).toEqual(['a', '']);
    subscription.unsubscribe();
    expect(stopped).toBe(true);
  });
});

test('a watch that always fails leaves no timer behind when the source is let go', async () => {
  const clock = new FakeClock();
  const subscription = fileSource(
    {
      fs: new MemoryFiles(),
      clock,
      watch: () => throwError(() => new Error('no')),
      onError: () => undefined,
    },
    { path: '/m', nodeName: 'n' },
  ).subscribe();
  await clock.advance(60_000);
  subscription.unsubscribe();
  expect(clock.pending).toBe(0);
});
