/**
 * A node in front of a job queue: pods are rows of an SQLite table, by the UID of the pod, and workers elsewhere take them from there.
 * After a restart the agent finds its pods in the table again.
 *
 *   node examples/job-queue.ts
 */
import { DatabaseSync } from 'node:sqlite';
import { runNode } from '../src/index.ts';
import {
  type Pod,
  type PodCapabilities,
  type PodLifecycleHandler,
  unavailable,
} from '../src/vkubelet/index.ts';

interface Job {
  readonly uid: string;
  readonly pod: string;
  readonly state: 'queued' | 'running' | 'done';
  readonly exit_code: number | null;
}

export class JobQueue implements PodLifecycleHandler {
  readonly capabilities: PodCapabilities = { restartPolicies: ['Never'], maxContainers: 1, volumes: false };
  readonly #db: DatabaseSync;

  constructor(file: string) {
    this.#db = new DatabaseSync(file);
    this.#db.exec(`CREATE TABLE IF NOT EXISTS jobs (
      uid TEXT PRIMARY KEY, namespace TEXT, name TEXT, pod TEXT,
      state TEXT DEFAULT 'queued', exit_code INTEGER)`);
  }

  async createPod(pod: Pod): Promise<void> {
    const { uid = '', namespace = '', name = '' } = pod.metadata ?? {};
    // a second call for the same pod changes nothing
    this.#db
      .prepare('INSERT OR IGNORE INTO jobs (uid, namespace, name, pod) VALUES (?, ?, ?, ?)')
      .run(uid, namespace, name, JSON.stringify(pod));
  }

  async updatePod(pod: Pod): Promise<void> {
    this.#db
      .prepare('UPDATE jobs SET pod = ? WHERE uid = ?')
      .run(JSON.stringify(pod), pod.metadata?.uid ?? '');
  }

  async deletePod(pod: Pod): Promise<void> {
    this.#db.prepare('DELETE FROM jobs WHERE uid = ?').run(pod.metadata?.uid ?? '');
  }

  async getPod(namespace: string, name: string): Promise<Pod | undefined> {
    return (await this.getPods()).find(
      ({ metadata }) => metadata?.namespace === namespace && metadata.name === name,
    );
  }

  async getPodStatus(namespace: string, name: string): Promise<Pod['status']> {
    return (await this.getPod(namespace, name))?.status;
  }

  async getPods(): Promise<readonly Pod[]> {
    try {
      const jobs = this.#db.prepare('SELECT * FROM jobs').all() as unknown as readonly Job[];
      return jobs.map(podOf);
    } catch (cause) {
      throw unavailable('the queue cannot be read', { cause }); // never an empty list
    }
  }

  /** The work of a worker: takes the oldest job and later reports how it ended. */
  take(): string | undefined {
    const job = this.#db.prepare("SELECT * FROM jobs WHERE state = 'queued' LIMIT 1").get() as unknown as
      Job | undefined;
    if (job) this.#db.prepare("UPDATE jobs SET state = 'running' WHERE uid = ?").run(job.uid);
    return job?.uid;
  }

  finish(uid: string, exitCode: number): void {
    this.#db.prepare("UPDATE jobs SET state = 'done', exit_code = ? WHERE uid = ?").run(exitCode, uid);
  }

  close(): void {
    this.#db.close();
  }
}

function podOf({ pod: text, state, exit_code: code }: Job): Pod {
  const pod = JSON.parse(text) as Pod;
  const exitCode = code ?? 0;
  const phase =
    state === 'queued'
      ? 'Pending'
      : state === 'running'
        ? 'Running'
        : exitCode === 0
          ? 'Succeeded'
          : 'Failed';
  const states = {
    queued: { waiting: { reason: 'Queued', message: 'no worker has taken the job yet' } },
    running: { running: {} },
    done: { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' } },
  };
  const containerStatuses = (pod.spec?.containers ?? []).map(({ name, image = '' }) => ({
    name,
    image,
    imageID: '',
    ready: state === 'running',
    restartCount: 0,
    state: states[state],
  }));
  return { ...pod, status: { phase, containerStatuses } };
}

if (process.argv[1] === import.meta.filename) {
  const queue = new JobQueue(':memory:');
  const node = await runNode({ nodeName: 'queue', provider: queue, server: 'embedded' });
  console.log(`node queue is ready at ${node.server?.url}`);
  await node.stop();
  queue.close();
}
