import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { ContainerConfig } from '../../../src/provider/cri-messages.ts';
import { detectIsolation, isolationKinds, type IsolationKind } from '../../../src/providers/oci/isolation.ts';
import { found } from '../../support/found.ts';
import { freePort } from '../../e2e/podtender.ts';
import { makeOciBench, type OciBench } from './harness.ts';

let bench: OciBench | undefined;
afterEach(async () => {
  await bench?.end();
  bench = undefined;
});
const open = async (...args: Parameters<typeof makeOciBench>): Promise<OciBench> =>
  (bench = await makeOciBench(...args));

const hasRoot = process.getuid?.() === 0;
const here = await kindsHere();

async function kindsHere(): Promise<readonly IsolationKind[]> {
  const tries = isolationKinds.map(async (kind) => {
    const search = {
      kind,
      dir: '/tmp/podtender-oci-kinds',
      uid: process.getuid?.() ?? 0,
      shell: '/bin/sh',
    };
    return detectIsolation(search).then(
      () => [kind],
      () => [],
    );
  });
  return (await Promise.all(tries)).flat();
}
const isolated = here.filter((kind) => kind !== 'none');

const user = (uid: number, more: object = {}): ContainerConfig => ({
  linux: { securityContext: { runAsUser: { value: uid }, ...more } },
});

describe.runIf(hasRoot).each(isolated)('a container of an image archive, isolated by %s', (kind) => {
  test('a web server answers, is seen into by exec, and stops by its signal with its logs complete', async () => {
    const port = await freePort();
    const { oci, ...run } = await open(kind);
    const script = `mkdir -p /www; echo hello >/www/index.html; trap 'echo bye; kill $! 2>/dev/null; exit 3' TERM; httpd -f -p 127.0.0.1:${port} -h /www & echo up; wait`;
    const id = await run.run(['sh', '-c', script]);
    await run.says('up');
    expect(await found('the server', () => get(port), { everyMs: 20 })).toBe('hello\n');
    expect(await run.exec(id, ['cat', '/www/index.html'])).toBe('0 hello\n');
    expect(await run.exec(id, ['sh', '-c', 'echo $ODD; exit 4'])).toBe('4 \n');
    await expect(run.exec(id, ['nope'])).rejects.toThrow(
      'unable to start container process: exec: "nope": executable file not found in $PATH',
    );
    await oci.runtime.stopContainer({ containerId: id, timeout: 10 });
    expect(await run.status(id)).toMatchObject({ exitCode: 3, reason: 'Error' });
    expect(run.log()).toBe('up\nbye\n');
  });

  test('sees the image and nothing of the host', async () => {
    const { output } = await open(kind);
    expect(
      (await output(['ls', '/'])).split('\n').filter((name) => !['dev', 'proc', 'sys', ''].includes(name)),
    ).toEqual(['bin', 'etc', 'root', 'tmp']);
    expect(await output(['sh', '-c', 'ls ../../../../..; cat /etc/passwd | head -1'])).toContain(
      'root:x:0:0:root',
    );
  });

  test('has the user, groups, directory and variables of image and container', async () => {
    const hasUsers = kind === 'namespaces' || kind === 'chroot';
    const { output } = await open(kind, {
      Env: ['PATH=/bin', 'A=image', 'B=image'],
      ...(hasUsers && { User: 'worker' }),
      WorkingDir: '/srv/app',
    });
    const seen = await output(['sh', '-c', 'id -u; id -g; id -G; pwd; echo $A $B $HOME $LD_LIBRARY_PATH'], {
      envs: [
        { key: 'B', value: Buffer.from('own') },
        { key: 'LD_LIBRARY_PATH', value: Buffer.from('/nowhere') },
      ],
    });
    expect(seen).toBe(
      `${hasUsers ? '1234\n1234\n1234 50000' : '0\n0\n0'}\n/srv/app\nimage own ${hasUsers ? '/' : '/root'} /nowhere\n`,
    );
  });

  test('is refused as a user that it cannot have', async () => {
    const { output } = await open(kind);
    const seen = output(['id', '-u'], user(1234));
    if (kind === 'namespaces' || kind === 'chroot') expect(await seen).toBe('1234\n');
    else
      await expect(seen).rejects.toThrow(`user 1234: isolation ${kind} has only the agent's own user, root`);
  });

  test('starts with no program that is not in the image', async () => {
    const { run } = await open(kind);
    await expect(run(['/usr/bin/id'])).rejects.toThrow('stat /usr/bin/id: no such file or directory');
  });
});

describe.runIf(hasRoot && here.includes('namespaces'))('a container in namespaces', () => {
  test('has processes, a host name and devices of its own, and the capabilities of a container', async () => {
    const { output } = await open('namespaces');
    const seen = await output([
      'sh',
      '-c',
      'echo $$; hostname; ls /dev; grep CapBnd /proc/self/status; echo x >/dev/null; echo x >/proc/sys/kernel/domainname',
    ]);
    expect(seen.split('\n').slice(0, 2)).toEqual(['1', 'box-pod']);
    expect(seen).toContain('CapBnd:\t00000000880425fb');
    expect(seen).toMatch(/domainname: Read-only file system/);
  });

  test('sees its volumes, read-only where they are, and nested ones inside', async () => {
    const { dir, output } = await open('namespaces');
    const [outer, inner, file] = [join(dir, 'outer'), join(dir, 'inner'), join(dir, 'file')];
    for (const path of [outer, inner]) mkdirSync(path);
    writeFileSync(file, 'of the host\n');
    const message = join(dir, 'message');
    writeFileSync(message, '');
    const seen = await output(
      [
        'sh',
        '-c',
        'echo end >/dev/termination-log; echo a >/data/a; echo b >/data/in/b; ls /data /data/in; cat /etc/own.conf; echo c >/etc/own.conf',
      ],
      {
        mounts: [
          { containerPath: '/data', hostPath: outer },
          { containerPath: '/dev/termination-log', hostPath: message },
          { containerPath: '/data/in', hostPath: inner },
          { containerPath: '/etc/own.conf', hostPath: file, readonly: true },
        ],
      },
    );
    expect(readFileSync(message, 'utf8')).toBe('end\n');
    expect(seen).toContain('/data:\na\nin\n\n/data/in:\nb\nof the host\n');
    expect(seen).toContain('Read-only file system');
  });

  test('drops what is dropped, and writes nowhere when its root is read-only', async () => {
    const { output } = await open('namespaces');
    const context = { capabilities: { dropCapabilities: ['ALL'] }, readonlyRootfs: true, noNewPrivs: true };
    const seen = await output(
      ['sh', '-c', 'grep -E "CapEff|NoNew" /proc/self/status; echo x >/tmp/x'],
      user(1234, context),
    );
    expect(seen).toContain('CapEff:\t0000000000000000');
    expect(seen).toContain('NoNewPrivs:\t1');
    expect(seen).toContain('Read-only file system');
  });

  test('is found by a later agent: running, with its signal and its exec', async () => {
    const own = await open('namespaces', { StopSignal: 'SIGUSR1' });
    const id = await own.run([
      'sh',
      '-c',
      'trap "echo usr1; exit 6" USR1; echo up; while :; do sleep 0.05; done',
    ]);
    await own.says('up');
    await own.restart();
    expect(await own.exec(id, ['hostname'])).toBe('0 box-pod\n');
    await own.oci.runtime.stopContainer({ containerId: id, timeout: 10 });
    expect(await own.status(id)).toMatchObject({ exitCode: 6 });
  });

  test('leaves nothing when it is killed: its whole process tree ends with it', async () => {
    const own = await open('namespaces');
    const id = await own.run(['sh', '-c', 'setsid sleep 999 & (setsid sleep 998 &) ; echo up; wait']);
    await own.says('up');
    await own.oci.runtime.stopContainer({ containerId: id, timeout: 0 });
    expect(await own.status(id)).toMatchObject({ exitCode: 137 });
  });
});

/** Returns the body of the answer; `undefined` when nothing listens. */
const get = (port: number): Promise<string | undefined> =>
  new Promise((resolve) => {
    request({ host: '127.0.0.1', port, path: '/index.html' }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () => {
        resolve(text);
      });
    })
      .once('error', () => {
        resolve(undefined);
      })
      .end();
  });
