import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { decodeSinglePod } from '../../src/config/static-pod.ts';
import { layout } from '../../src/containers/paths/layout.ts';
import { containerLogPath, podLogsDirectory } from '../../src/containers/paths/log-paths.ts';
import { admitProcessPod } from '../../src/providers/process/admission.ts';
import { imageTable } from '../../src/providers/process/images.ts';
import { layOutMounts, makeDirectory } from '../../src/providers/process/mounts.ts';
import { makeBench } from '../providers/process/harness.ts';

let bed: string;
let root: string;
let volume: string;
beforeEach(() => {
  bed = mkdtempSync(join(tmpdir(), 'podtender-mounts-'));
  root = join(bed, 'root');
  volume = join(bed, 'volume');
  for (const path of [root, volume, join(bed, 'host')]) mkdirSync(path);
});
afterEach(() => {
  rmSync(bed, { recursive: true, force: true });
});

const up = '/../../../../../../../../../../../..';

describe('a mountPath with ..', () => {
  test.for([`${up}/tmp/x`, '/a/../../b', '..', '/..', 'a/..'])(
    '%s makes nothing and replaces nothing',
    (containerPath) => {
      symlinkSync('/etc/hostname', join(bed, 'a-link'));
      const paths = [containerPath, `${up}${bed}/a-link`, `${up}${bed}/made/deep/x`];
      for (const path of paths)
        expect(() => {
          layOutMounts(root, [{ containerPath: path, hostPath: volume }]);
        }).toThrow(`mount at "${path}": the path of a mount may not leave its directory`);
      expect(readlinkSync(join(bed, 'a-link'))).toBe('/etc/hostname');
      expect(readdirSync(bed).sort()).toEqual(['a-link', 'host', 'root', 'volume']);
    },
  );

  test('is refused at admission, in words that name the mount', () => {
    const pod = {
      metadata: { name: 'escape', annotations: { 'podtender.io/mounts': 'relative' } },
      spec: {
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [
          {
            name: 'main',
            image: 'busybox',
            command: ['true'],
            volumeMounts: [{ name: 'v', mountPath: `${up}/x` }],
          },
        ],
      },
    };
    const how = { images: imageTable('/usr/bin/node'), uid: 0, gid: 0, hasTerminals: true };
    expect(admitProcessPod(pod, [], how)).toMatchObject({
      admit: false,
      message: expect.stringContaining(`mount of "v" at ${up}/x: ".." in a mountPath is refused`) as string,
    });
  });
});

describe('a mount inside a volume', () => {
  const nested = (hostPath: string) => [
    { containerPath: '/data', hostPath: volume },
    { containerPath: '/data/sub/x', hostPath },
  ];

  test('lands in it', () => {
    layOutMounts(root, nested(join(bed, 'host')));
    expect(readlinkSync(join(root, 'data'))).toBe(volume);
    expect(readlinkSync(join(volume, 'sub/x'))).toBe(join(bed, 'host'));
  });

  test.for(['/etc', '../host', '.'])('follows no link to %s that a container made there', (target) => {
    symlinkSync(target, join(volume, 'sub'));
    expect(() => {
      layOutMounts(root, nested(join(bed, 'other')));
    }).toThrow('mount at "/data/sub/x": "sub" is a link or no directory');
    expect(readdirSync(join(bed, 'host'))).toEqual([]);
  });

  test('replaces no link that is not its own', () => {
    mkdirSync(join(volume, 'sub'));
    symlinkSync('/etc/hostname', join(volume, 'sub/x'));
    expect(() => {
      layOutMounts(root, nested(join(bed, 'host/file')));
    }).toThrow('mount at "/data/sub/x": a link that leads to "/etc/hostname" is there already');
    expect(readlinkSync(join(volume, 'sub/x'))).toBe('/etc/hostname');
  });

  test('replaces what an earlier run of the container left', () => {
    layOutMounts(root, nested(join(bed, 'host/one')));
    rmSync(root, { recursive: true });
    mkdirSync(root);
    layOutMounts(root, nested(join(bed, 'host/two')));
    expect(readlinkSync(join(volume, 'sub/x'))).toBe(join(bed, 'host/two'));
  });

  test('a working directory that is missing is made in it, by no link', () => {
    makeDirectory(root, nested(join(bed, 'host')).slice(0, 1), '/data/a/b');
    expect(lstatSync(join(volume, 'a/b')).isDirectory()).toBe(true);
    symlinkSync(join(bed, 'host'), join(volume, 'out'));
    expect(() => {
      makeDirectory(root, nested('').slice(0, 1), '/data/out/b');
    }).toThrow('"out" is a link or no directory');
    expect(existsSync(join(bed, 'host/b'))).toBe(false);
  });
});

test('a working directory with .. is one of the container', async () => {
  const bench = await makeBench();
  try {
    const id = await bench.run(['pwd'], { workingDir: `${up}${bed}/made` });
    await bench.exited(id);
    expect(existsSync(join(bed, 'made'))).toBe(false);
    expect(bench.log()).toContain(`/containers/${id}/root${bed}/made\n`);
  } finally {
    await bench.end();
  }
});

test.for(['../../etc', '..', 'a/b', 'a\0b'])('a static pod whose uid is %s is refused', (uid) => {
  const spec = { containers: [{ name: 'a', image: 'a' }] };
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', uid }, spec });
  expect(decodeSinglePod(text, { source: '/m/a', isFile: true, nodeName: 'n' })).toMatchObject({
    fault: { message: expect.stringContaining('metadata.uid: Invalid value: ') as string },
  });
});

test('names that an API server sends name nothing outside the directories of pods', () => {
  const pod = { metadata: { name: '..', namespace: '../..', uid: 'u' } };
  expect(() => layout.podDir('/r', '../x')).toThrow('the uid of a pod');
  expect(() => layout.volumeDir('/r', 'u', 'p', '..')).toThrow('the name of a volume');
  expect(() => layout.containerDir('/r', 'u', 'a/b')).toThrow('the name of a container');
  expect(() => podLogsDirectory('/r', pod)).toThrow('what the logs of a pod are called');
  expect(() => containerLogPath('../a', 0)).toThrow('the name of a container');
});
