import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startEtcd, storePath } from '../../src/app/etcd.ts';
import { parseFlags } from '../../src/app/go-flags.ts';
import { etcdFlags } from '../../src/app/kube-apiserver-flags.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-etcd-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

test('answers health and names its directory; other paths are not found', async () => {
  const args = `-data-dir ${dir}/data --listen-client-urls http://127.0.0.1:0 --unsafe-no-fsync=true -wal-dir x`;
  const etcd = await startEtcd(parseFlags(args.split(' '), etcdFlags));
  try {
    const [url = ''] = etcd.urls;
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ health: 'true', reason: '' });
    expect(await (await fetch(`${url}${storePath}`)).json()).toEqual({
      dataDir: `${dir}/data`,
      fsync: false,
    });
    expect((await fetch(`${url}/v3/kv/range`)).status).toBe(404);
    expect(existsSync(join(dir, 'data'))).toBe(true);
  } finally {
    await etcd.stop();
  }
});

test.each([
  ['--listen-client-urls https://127.0.0.1:0', 'an http:// URL is expected'],
  ['--data-dir /dev/null/x', '--data-dir /dev/null/x: '],
])('%s is rejected', async (args, text) => {
  const flags = parseFlags(args.split(' '), etcdFlags);
  await expect(startEtcd(new Map([['data-dir', [dir]], ...flags]))).rejects.toThrow(text);
});
