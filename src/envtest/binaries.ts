import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiConnection } from '../api/rest/connection.ts';
import { createApiClient } from '../api/rest/http-client.ts';
import type { AuditEvent } from '../apiserver/index.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { Authority, hour, type KeyPair, year } from '../pki/certificates.ts';
import type { ControlPlane, TestUser } from './control-plane.ts';
import { freePort } from './webhooks.ts';

/** How long each program may take until it is ready by default, and until it has ended, ms; as envtest. */
const defaultReadyWithinMs = 20_000;
const endsWithinMs = 20_000;
const lookMs = 50;

/** A program of the control plane. */
class Program {
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #ended: Promise<string>;
  #output = '';

  constructor(folder: string, name: string, args: readonly string[]) {
    const file = join(folder, name);
    if (!existsSync(file))
      throw new AgentError(
        'unavailable',
        `${file} does not exist: binaries (KUBEBUILDER_ASSETS) needs a directory with kube-apiserver and etcd`,
      );
    this.#name = name;
    this.#child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-4096);
      });
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', (reason) => {
        resolve(messageOf(reason));
      });
      this.#child.once('close', (code, signal) => {
        resolve(`it ended with ${code ?? signal ?? ''}`);
      });
    });
  }

  /** Waits until `isReady` resolves to true. @throws {AgentError} when the program ends before, or takes too long */
  async ready({ clock, readyWithinMs }: Starting, isReady: () => Promise<boolean>): Promise<void> {
    let end: string | undefined;
    void this.#ended.then((how) => {
      end = how;
    });
    const deadline = clock.now() + readyWithinMs;
    while (!(await isReady().catch(() => false))) {
      if (end !== undefined || clock.now() > deadline) {
        const how =
          end ??
          `it is not ready after ${readyWithinMs / 1000} s (KUBEBUILDER_CONTROLPLANE_START_TIMEOUT or startTimeoutMs sets another limit)`;
        throw new AgentError('unavailable', `${this.#name}: ${how}: ${this.#output.trim()}`);
      }
      await clock.sleep(lookMs);
    }
  }

  async stop(clock: Clock): Promise<void> {
    this.#child.kill('SIGTERM');
    const cancel = clock.timer(endsWithinMs, () => this.#child.kill('SIGKILL'));
    await this.#ended;
    cancel();
  }
}

const auditPolicy =
  'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n';

/** Certificates and keys that the programs get as files. */
interface Keys {
  readonly serving: Authority;
  readonly clients: Authority;
}

function writeKeys(folder: string, now: number): Keys {
  const [serving, clients, accounts] = ['serving', 'clients', 'service-accounts'].map((name) =>
    Authority.create(`podtender-envtest-${name}`, now),
  ) as [Authority, Authority, Authority];
  const pair = serving.issue({
    ...{ subject: { commonName: 'kube-apiserver' }, notBefore: now - hour, notAfter: now + year },
    ...{ usages: ['server auth'], hosts: ['127.0.0.1', 'localhost'] },
  });
  const files = {
    'apiserver.crt': pair.cert,
    'apiserver.key': pair.key,
    'clients.crt': clients.cert,
    'accounts.crt': accounts.cert,
    'accounts.key': accounts.key,
    'audit.yaml': auditPolicy,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  return { serving, clients };
}

const clientOf = (authority: Authority, now: number, { name, groups = [] }: TestUser): KeyPair =>
  authority.issue({
    ...{ subject: { commonName: name, organizations: groups }, notBefore: now - hour, notAfter: now + year },
    usages: ['client auth'],
  });

/**
 * Starts the kube-apiserver and etcd of a directory (KUBEBUILDER_ASSETS), with the flags that envtest passes.
 *
 * @param readyWithinMs how long each program may take until it is ready
 * @throws {AgentError} `unavailable` when a program is missing or does not start
 */
export async function startBinaries(
  binaries: string,
  clock: Clock,
  readyWithinMs: number = defaultReadyWithinMs,
): Promise<ControlPlane> {
  const folder = mkdtempSync(join(tmpdir(), 'podtender-envtest-'));
  const programs: Program[] = [];
  const stop = async (): Promise<void> => {
    for (const program of programs.splice(0).reverse()) await program.stop(clock);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const keys = writeKeys(folder, clock.now());
    const starting: Starting = { binaries, folder, clock, programs, readyWithinMs };
    const etcdUrl = await startEtcd(starting);
    const connection = await startApiServer(starting, etcdUrl, keys);
    return {
      connection,
      addUser: (user) => ({
        server: connection.server,
        ca: keys.serving.cert,
        ...clientOf(keys.clients, clock.now(), user),
      }),
      audit: () => readAudit(join(folder, 'audit.log')),
      stop,
    };
  } catch (reason) {
    await stop();
    throw reason;
  }
}

interface Starting {
  readonly binaries: string;
  readonly folder: string;
  readonly clock: Clock;
  readonly programs: Program[];
  readonly readyWithinMs: number;
}

async function startEtcd(starting: Starting): Promise<string> {
  const { binaries, folder, clock, programs } = starting;
  const [client, peer] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')];
  const url = `http://127.0.0.1:${client}`;
  mkdirSync(join(folder, 'etcd'));
  const etcd = new Program(binaries, 'etcd', [
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
    `--data-dir=${join(folder, 'etcd')}`,
    '--unsafe-no-fsync=true',
  ]);
  programs.push(etcd);
  await etcd.ready(starting, () => answers({ server: url }, '/health', clock));
  return url;
}

async function startApiServer(
  starting: Starting,
  etcdUrl: string,
  { serving, clients }: Keys,
): Promise<ApiConnection> {
  const { binaries, folder, clock, programs } = starting;
  const port = await freePort('127.0.0.1');
  const apiserver = new Program(binaries, 'kube-apiserver', [
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    `--cert-dir=${folder}`,
    `--client-ca-file=${join(folder, 'clients.crt')}`,
    '--authorization-mode=RBAC',
    '--allow-privileged=true',
    '--disable-admission-plugins=ServiceAccount',
    '--service-cluster-ip-range=10.0.0.0/24',
    `--service-account-issuer=https://127.0.0.1:${port}/`,
    `--service-account-key-file=${join(folder, 'accounts.crt')}`,
    `--service-account-signing-key-file=${join(folder, 'accounts.key')}`,
    `--audit-log-path=${join(folder, 'audit.log')}`,
    `--audit-policy-file=${join(folder, 'audit.yaml')}`,
  ]);
  programs.push(apiserver);
  const admin = clientOf(clients, clock.now(), { name: 'admin', groups: ['system:masters'] });
  const connection = { server: `https://127.0.0.1:${port}`, ca: serving.cert, ...admin };
  await apiserver.ready(starting, () => answers(connection, '/readyz', clock));
  return connection;
}

/** Reports whether a path is answered with success. */
async function answers(connection: ApiConnection, path: string, clock: Clock): Promise<boolean> {
  const client = createApiClient(connection, { clock, qps: 0, timeoutMs: 2000 });
  try {
    await client.raw(path, { method: 'GET' });
    return true;
  } finally {
    await client.close();
  }
}

/** Returns the events of an audit log. The last line may not be complete yet. */
function readAudit(file: string): readonly AuditEvent[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as AuditEvent);
}
