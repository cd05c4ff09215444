import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectionFromKubeconfig } from '../../src/api/kubeconfig/kube-client.ts';
import type { ApiConnection } from '../../src/api/rest/connection.ts';
import { systemClock } from '../../src/base/clock.ts';
import { freePort } from '../../src/envtest/webhooks.ts';
import { Authority, hour, year } from '../../src/pki/certificates.ts';
import { cpuMsOf, podtender, rssMiBOf } from './processes.ts';

/** A server under measurement, with the processes that it consists of. */
export interface MeasuredServer {
  readonly name: string;
  readonly connection: ApiConnection;
  /** From the start of its first process until `/readyz` answers 200. */
  readonly startMs: number;
  /** CPU time of the API server's process so far, ms. */
  cpuMs(): number;
  /** Resident memory of each process, MiB; the API server's is first. */
  memory(): readonly number[];
  stop(): Promise<void>;
}

const startsWithinMs = 60_000;

/** Starts `podtender apiserver` in memory, without controllers. */
export async function startPodtender(nodeFlags: readonly string[] = []): Promise<MeasuredServer> {
  const startedAt = performance.now();
  const child = podtender(
    ['apiserver', '--output', 'json', '--controllers', 'none', '--disable-admission-plugins=ServiceAccount'],
    nodeFlags,
  );
  if (!child.stdout) throw new Error('the process has no output');
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { kubeconfig } = JSON.parse(line) as { readonly kubeconfig: string };
  const { credentials, ...address } = await connectionFromKubeconfig(systemClock, kubeconfig);
  const connection = { ...address, ...(await credentials?.current()) };
  return measured('podtender', await readied(connection, [child]), [child], startedAt);
}

/** Starts the etcd and kube-apiserver of a directory, with the flags that envtest passes. */
export async function startKube(binaries: string): Promise<MeasuredServer> {
  const dir = mkdtempSync(join(tmpdir(), 'apiserver-bench-'));
  const host = '127.0.0.1';
  const [client, peer, port] = [await freePort(host), await freePort(host), await freePort(host)];
  const etcdUrl = `http://127.0.0.1:${client}`;
  const keys = writeKeys(dir);
  const startedAt = performance.now();
  const etcd = spawn(
    join(binaries, 'etcd'),
    [
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      `--listen-peer-urls=http://127.0.0.1:${peer}`,
      `--data-dir=${join(dir, 'etcd')}`,
      '--unsafe-no-fsync=true',
    ],
    { stdio: 'ignore' },
  );
  const apiserver = spawn(
    join(binaries, 'kube-apiserver'),
    [
      `--etcd-servers=${etcdUrl}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      `--cert-dir=${dir}`,
      `--client-ca-file=${join(dir, 'ca.crt')}`,
      '--authorization-mode=RBAC',
      '--allow-privileged=true',
      '--disable-admission-plugins=ServiceAccount',
      '--service-cluster-ip-range=10.0.0.0/24',
      `--service-account-issuer=https://127.0.0.1:${port}/`,
      `--service-account-key-file=${join(dir, 'accounts.crt')}`,
      `--service-account-signing-key-file=${join(dir, 'accounts.key')}`,
    ],
    { stdio: 'ignore' },
  );
  const connection = { server: `https://127.0.0.1:${port}`, ...keys };
  const server = measured(
    'kube-apiserver',
    await readied(connection, [apiserver, etcd]),
    [apiserver, etcd],
    startedAt,
  );
  return {
    ...server,
    stop: async () => {
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function measured(
  name: string,
  connection: ApiConnection,
  processes: readonly ChildProcess[],
  startedAt: number,
): MeasuredServer {
  const startMs = performance.now() - startedAt;
  const pids = processes.map(({ pid = 0 }) => pid);
  return {
    name,
    connection,
    startMs,
    cpuMs: () => cpuMsOf(pids[0] ?? 0),
    memory: () => pids.map(rssMiBOf),
    stop: async () => {
      for (const child of processes) {
        const gone = once(child, 'exit');
        child.kill();
        await gone;
      }
    },
  };
}

/** Writes the authority and keys that kube-apiserver gets as files. @returns what an administrator presents */
function writeKeys(dir: string): Omit<ApiConnection, 'server'> {
  const now = Date.now();
  const authority = Authority.create('apiserver-bench', now);
  const validity = { notBefore: now - hour, notAfter: now + year };
  const serving = authority.issue({
    subject: { commonName: 'kube-apiserver' },
    ...validity,
    usages: ['server auth'],
    hosts: ['127.0.0.1', 'localhost'],
  });
  const accounts = Authority.create('accounts', now);
  const files = {
    'ca.crt': authority.cert,
    'apiserver.crt': serving.cert,
    'apiserver.key': serving.key,
    'accounts.crt': accounts.cert,
    'accounts.key': accounts.key,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text, { mode: 0o600 });
  const subject = { commonName: 'admin', organizations: ['system:masters'] };
  return { ca: authority.cert, ...authority.issue({ subject, ...validity, usages: ['client auth'] }) };
}

/** Waits until `/readyz` answers 200. @throws when a process has ended, or after a minute */
async function readied(
  connection: ApiConnection,
  processes: readonly ChildProcess[],
): Promise<ApiConnection> {
  const deadline = performance.now() + startsWithinMs;
  while ((await statusOf(connection, '/readyz')) !== 200) {
    const isGone = processes.some(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null);
    if (!isGone && performance.now() < deadline) await sleep(10);
    else {
      for (const child of processes) child.kill();
      throw new Error(
        `${connection.server} is not ready: ${isGone ? 'a process has ended' : 'it takes too long'}`,
      );
    }
  }
  return connection;
}

const statusOf = ({ server, ca, cert, key }: ApiConnection, path: string): Promise<number> =>
  new Promise((resolve) => {
    request(`${server}${path}`, { ca, cert, key, agent: false, timeout: 5000 }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    })
      .on('timeout', () => {
        resolve(0);
      })
      .on('error', () => {
        resolve(0);
      })
      .end();
  });
