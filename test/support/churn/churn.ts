import { once } from 'node:events';
import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isNotFound } from '../../../src/api/client.ts';
import { createApiClient, type HttpApiClient } from '../../../src/api/rest/http-client.ts';
import { Informer } from '../../../src/api/cache/informer.ts';
import { nodeResource, podResource } from '../../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { isMirrorPod, nameOf, uidOf } from '../../../src/kube/names.ts';
import type { Node, Pod } from '../../../src/kube/types.ts';
import { condition } from '../../e2e/podtender.ts';
import { seeded } from '../chaos-proxy.ts';
import type { Bed, RunningContainer } from './beds.ts';
import { History, statusesOf } from './history.ts';
import { kindNames, kindOf, onceOnly, outcomeOf, podOf, type PodSetting } from './pods.ts';

const program = new URL('../../../bin/podtender.mjs', import.meta.url).pathname;
const nodeName = 'churn';

export interface ChurnOptions {
  /** The directory of all files; the agent's log is `agent.log`. */
  readonly dir: string;
  /** The prefix of all pod names. */
  readonly mark: string;
  readonly kills: number;
  readonly seed: number;
  /** The maximum number of pods at a time, in addition to those that are never touched. */
  readonly maxPods: number;
  /** The longest run of an agent before it is killed, ms. */
  readonly maxLifeMs: number;
  /** The time limit for an undisturbed agent to reach the desired state, ms. */
  readonly settleMs: number;
  readonly log: (line: string) => void;
}

export interface ChurnReport {
  readonly kills: number;
  readonly created: number;
  readonly deleted: number;
  readonly changed: number;
}

/** The pods that are never touched and must survive everything. */
const untouched = ['plain', 'pair', 'sidecar', 'volumes'];

/** The pod's UID on the node: for a mirror pod that of its static pod. */
const nodeUid = (pod: Pod): string => pod.metadata?.annotations?.['kubernetes.io/config.hash'] ?? uidOf(pod);

/**
 * Kills an agent with SIGKILL at random moments while users create, change and delete pods. Then the agent runs undisturbed, and the
 * desired state must be reached: nothing lost, duplicated or left over, and no phase gone backwards.
 */
export class Churn {
  readonly #bed: Bed;
  readonly #options: ChurnOptions;
  readonly #random: () => number;
  readonly #history = new History();
  readonly #setting: PodSetting;
  readonly #stop = new AbortController();
  readonly #faults: string[] = [];
  readonly #report = { kills: 0, created: 0, deleted: 0, changed: 0 };
  #server!: EmbeddedApiServer;
  #client!: HttpApiClient;
  #pods!: Informer<Pod>;
  #agent: ChildProcess | undefined;
  #serial = 0;
  /** The length of the log when the current agent started. */
  #logged = 0;
  readonly #untouched: readonly string[];
  #statics: readonly string[] = [];

  constructor(bed: Bed, options: ChurnOptions) {
    this.#bed = bed;
    this.#untouched = untouched.filter((kind) => (bed.pods?.kinds ?? kindNames).includes(kind));
    this.#options = options;
    this.#random = seeded(options.seed);
    const ledger = join(options.dir, 'ledger');
    this.#setting = { nodeName, mark: options.mark, ledger, isolated: bed.isolated };
    for (const name of ['ledger', 'manifests', 'data'])
      mkdirSync(join(options.dir, name), { recursive: true });
  }

  /** @throws with everything that is wrong, and the seed */
  async run(): Promise<ChurnReport> {
    const { log, kills } = this.#options;
    try {
      await this.#begin();
      const before = await this.#steady();
      for (let kill = 1; kill <= kills; kill++) {
        await this.#life();
        if (kill % 20 === 0) log(this.#progress());
      }
      log('in peace');
      await this.#settle();
      await this.#expectSame(before);
      log('the end');
      await this.#end();
      return this.#report;
    } finally {
      await this.#close();
    }
  }

  #progress(): string {
    const { kills, created, changed, deleted } = this.#report;
    const pods = this.#pods.store.list();
    const leaving = pods.filter(({ metadata }) => metadata?.deletionTimestamp !== undefined);
    return `${kills} kills, ${created} pods created, ${changed} changed, ${deleted} deleted; ${pods.length} are there, ${leaving.length} of them leaving`;
  }

  async #begin(): Promise<void> {
    this.#server = await EmbeddedApiServer.start({ minimalScheduler: false, history: 100_000 });
    const { dir } = this.#options;
    const node = this.#server.clientCertificate(`system:node:${nodeName}`, ['system:nodes']);
    writeFileSync(join(dir, 'kubeconfig'), this.#server.kubeconfig(node), { mode: 0o600 });
    this.#client = createApiClient(
      { server: this.#server.url, ca: this.#server.ca, ...this.#server.admin },
      { clock, qps: 0 },
    );
    this.#pods = new Informer<Pod>({ client: this.#client, clock }, podResource);
    this.#pods.addHandler({
      added: (pod) => {
        this.#history.seen(pod);
      },
      updated: (_old, pod) => {
        this.#history.seen(pod);
      },
      deleted: (pod) => {
        this.#history.gone(pod);
        this.#expectOnce(pod);
      },
    });
    void this.#pods.run(this.#stop.signal);
  }

  /** Creates the pods that are never touched and waits until they run. */
  async #steady(): Promise<readonly RunningContainer[]> {
    const { mark, settleMs } = this.#options;
    this.#startAgent();
    for (const kind of this.#untouched) await this.#create(`${mark}-still-${kind}`, kind);
    this.#writeManifest(`${mark}-still-static`, 'plain', 0);
    await this.#until(settleMs, 'the first pods are Ready', () => this.#unsettled());
    return this.#still(await this.#bed.running());
  }

  /** One run of an agent: users act all the time, then it is killed; sometimes there is no agent for a while. */
  async #life(): Promise<void> {
    const { maxLifeMs } = this.#options;
    if (!this.#agent) this.#startAgent();
    // some are killed while they start; on a busy machine that takes them seconds
    if (this.#random() < 0.25) await this.#acts(this.#random() * 1000);
    else {
      while (!this.#isUp()) await this.#acts(100);
      await this.#acts(this.#random() * maxLifeMs);
    }
    await this.#killAgent();
    await this.#expectSingle();
    if (this.#random() < 0.2) await this.#acts(this.#random() * 1000);
  }

  /** Whether the current agent reports that it runs. @throws when it has ended */
  #isUp(): boolean {
    const { exitCode, signalCode } = this.#agent ?? {};
    if (exitCode ?? signalCode)
      throw new Error(`the agent ended with ${exitCode ?? signalCode ?? ''}, see its log`);
    return readFileSync(join(this.#options.dir, 'agent.log'), 'utf8')
      .slice(this.#logged)
      .includes('agent runs');
  }

  async #acts(ms: number): Promise<void> {
    const endsAt = performance.now() + ms;
    for (;;) {
      const left = endsAt - performance.now();
      const pause = this.#random() * 500;
      await delay(Math.max(0, Math.min(pause, left)));
      if (pause >= left) return;
      await this.#act();
    }
  }

  async #act(): Promise<void> {
    const { mark, maxPods } = this.#options;
    const mine = this.#touched();
    const dice = this.#random();
    const one = mine[Math.floor(this.#random() * mine.length)];
    const kinds = this.#bed.pods?.kinds ?? kindNames;
    const kind = kinds[Math.floor(this.#random() * kinds.length)] ?? 'plain';
    // an agent that lives for seconds may not get round to all that leave: no more come then
    const isFull = this.#pods.store.size > 2 * maxPods + this.#untouched.length;
    if (dice < 0.1) this.#actOnManifests(kind);
    else if (one && (dice < 0.4 || mine.length >= maxPods)) await this.#delete(one);
    else if (one && dice < 0.55) await this.#change(one);
    else if (!isFull) await this.#create(`${mark}-${this.#serial++}-${kind}`, kind);
  }

  /** The pods in the API server that users may change. */
  #touched(): readonly Pod[] {
    return this.#pods.store
      .list()
      .filter(
        (pod) => !isMirrorPod(pod) && !nameOf(pod).includes('-still-') && !pod.metadata?.deletionTimestamp,
      );
  }

  async #create(name: string, kind: string): Promise<void> {
    await this.#client.create(podResource, this.#podOf(name, kind));
    this.#report.created++;
  }

  /** Deletes a pod with its own grace period, with another one, or by force; sometimes its name is reused at once. */
  async #delete(pod: Pod): Promise<void> {
    const dice = this.#random();
    const grace = dice < 0.5 ? {} : { gracePeriodSeconds: dice < 0.8 ? 0 : 2 };
    this.#history.unwanted(uidOf(pod));
    await this.#client.delete(podResource, refOf(pod), grace).catch(unlessNotFound);
    this.#report.deleted++;
    const again = grace.gracePeriodSeconds === 0 && this.#random() < 0.3;
    if (again) await this.#create(nameOf(pod), kindOf(pod));
  }

  async #change(pod: Pod): Promise<void> {
    const [first] = pod.spec?.containers ?? [];
    const image = first?.image === 'localhost/busybox:1' ? 'localhost/busybox:2' : 'localhost/busybox:1';
    // containers of pods that run once only have to stay what they are
    const anew = !this.#bed.pods && outcomeOf(kindOf(pod)) === 'Ready' && this.#random() < 0.6;
    const body = {
      metadata: { labels: { 'churn/at': String(this.#report.changed++) } },
      ...(anew && { spec: { containers: [{ name: first?.name, image }] } }),
    };
    await this.#client.patch(podResource, refOf(pod), { type: 'strategic', body }).catch(unlessNotFound);
  }

  /** Creates, changes or deletes a manifest. */
  #actOnManifests(kind: string): void {
    const { mark, dir } = this.#options;
    const [old] = this.#statics;
    if (old !== undefined && this.#random() < 0.4) {
      rmSync(join(dir, 'manifests', `${old}.json`));
      this.#statics = this.#statics.filter((name) => name !== old);
      return;
    }
    const name = old !== undefined && this.#random() < 0.5 ? old : `${mark}-static-${this.#serial % 3}`;
    this.#writeManifest(name, outcomeOf(kind) === 'Ready' ? kind : 'plain', this.#serial++);
    this.#statics = [...new Set([...this.#statics, name])];
  }

  #writeManifest(name: string, kind: string, version: number): void {
    const pod = this.#podOf(name, kind);
    const { nodeName: _, ...spec } = pod.spec ?? { containers: [] };
    const metadata = { ...pod.metadata, annotations: { version: String(version) } };
    writeFileSync(
      join(this.#options.dir, 'manifests', `${name}.json`),
      JSON.stringify({ ...pod, metadata, spec }),
    );
  }

  #startAgent(): void {
    const { dir } = this.#options;
    const log = openSync(join(dir, 'agent.log'), 'a');
    const words = [
      ...['run', '--node-name', nodeName, '--kubeconfig', join(dir, 'kubeconfig')],
      ...['--data-dir', join(dir, 'data'), '--manifests', join(dir, 'manifests')],
      ...['--file-check-frequency=1s', '--enable-server=false', '--log-level=info', '--max-pods=250'],
      ...['--kube-api-qps=1000', '--kube-api-burst=1000'],
    ];
    this.#logged = fstatSync(log).size;
    this.#agent = spawn(process.execPath, [program, ...words, ...this.#bed.args], {
      stdio: ['ignore', log, log],
      env: { ...process.env, NODE_OPTIONS: '', ...this.#bed.env },
    });
    closeSync(log);
  }

  async #killAgent(): Promise<void> {
    const dying = this.#agent;
    this.#agent = undefined;
    if (!dying) return;
    if (dying.exitCode !== null || dying.signalCode !== null)
      throw new Error(`the agent ended by itself with ${dying.exitCode ?? dying.signalCode ?? ''}`);
    const ended = once(dying, 'exit');
    dying.kill('SIGKILL');
    await ended;
    this.#report.kills++;
  }

  /** Checks that no container runs twice. */
  async #expectSingle(): Promise<void> {
    const keys = (await this.#bed.running()).map(({ uid, pod, name }) => `${name} of pod ${pod} (${uid})`);
    for (const key of keys.filter((key, index) => keys.indexOf(key) !== index))
      this.#faults.push(`container ${key} ran twice after kill ${this.#report.kills}`);
    for (const uid of await this.#bed.doubledSandboxes())
      this.#faults.push(`pod ${uid} had two sandboxes after kill ${this.#report.kills}`);
  }

  /** What is missing for the desired state. */
  #unsettled(): readonly string[] {
    const pods = this.#pods.store.list();
    const names = new Set(pods.map(nameOf));
    const manifests = [...this.#statics, `${this.#options.mark}-still-static`].map(
      (name) => `${name}-${nodeName}`,
    );
    return [
      ...manifests.filter((name) => !names.has(name)).map((name) => `static pod ${name} has no mirror`),
      ...pods.flatMap((pod) => {
        const wrong = wrongWith(pod);
        return wrong === undefined ? [] : [`pod ${nameOf(pod)} (${nodeUid(pod)}) ${wrong}`];
      }),
    ];
  }

  async #settle(): Promise<void> {
    if (!this.#agent) this.#startAgent();
    await this.#until(this.#options.settleMs, 'every pod is as wanted', () => this.#unsettled());
    await this.#until(this.#options.settleMs, 'what runs is what is wanted', async () => this.#difference());
    this.#throwFaults();
  }

  /** The differences between the running containers and the API server, both ways. */
  async #difference(): Promise<readonly string[]> {
    const key = (uid: string, name: string): string => `${name} of pod ${uid}`;
    const runs = (await this.#bed.running()).map(({ uid, name }) => key(uid, name));
    const pods = this.#pods.store.list();
    const reported = pods
      .filter((pod) => outcomeOf(kindOf(pod)) === 'Ready')
      .flatMap((pod) =>
        statusesOf(pod)
          .filter(({ state }) => state?.running)
          .map(({ name }) => key(nodeUid(pod), name)),
      );
    const crashing = new Set(
      pods.filter((pod) => kindOf(pod) === 'crashing').map((pod) => key(nodeUid(pod), 'main')),
    );
    return [
      ...runs
        .filter((one) => !reported.includes(one) && !crashing.has(one))
        .map((one) => `${one} runs, unwanted`),
      ...reported.filter((one) => !runs.includes(one)).map((one) => `${one} was lost`),
      ...runs.filter((one, index) => runs.indexOf(one) !== index).map((one) => `${one} runs twice`),
    ];
  }

  #still(running: readonly RunningContainer[]): readonly RunningContainer[] {
    return running.filter(({ pod }) => pod.includes('-still-')).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Checks that untouched pods still run their first containers, and that pods that may run once have run once. */
  async #expectSame(before: readonly RunningContainer[]): Promise<void> {
    const after = new Set(this.#still(await this.#bed.running()).map(({ id }) => id));
    for (const { id, pod, name } of before)
      if (!after.has(id))
        this.#faults.push(`container ${name} of pod ${pod}, which nobody touched, is another one`);
    for (const pod of this.#pods.store.list()) {
      const again = statusesOf(pod).filter(({ restartCount }) => restartCount > 0);
      if (nameOf(pod).includes('-still-') && again.length > 0)
        this.#faults.push(`pod ${nameOf(pod)}, which nobody touched, was restarted`);
      this.#expectOnce(pod);
    }
    this.#throwFaults();
  }

  #podOf(name: string, kind: string): Pod {
    return (this.#bed.pods?.podOf ?? podOf)(name, kind, this.#setting);
  }

  /** How often a pod that may run once has run, by its own record. */
  #runsOf(uid: string): number {
    const file = join(this.#setting.ledger, uid);
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
  }

  #expectOnce(pod: Pod): void {
    if (!onceOnly.has(kindOf(pod)) || isMirrorPod(pod)) return;
    const runs = this.#bed.pods ? this.#bed.pods.runsOf(uidOf(pod)) : this.#runsOf(uidOf(pod));
    // a start that the kill interrupted is reported as a failure and is not repeated
    const isFine = pod.status?.phase === 'Succeeded' ? runs === 1 : runs <= 1;
    if (!isFine) this.#faults.push(`pod ${nameOf(pod)}, which may run once, ran ${runs} times`);
  }

  /** Deletes everything and checks that nothing is left. */
  async #end(): Promise<void> {
    const { dir, settleMs } = this.#options;
    for (const name of [...this.#statics, `${this.#options.mark}-still-static`])
      rmSync(join(dir, 'manifests', `${name}.json`));
    for (const pod of this.#pods.store.list()) {
      if (isMirrorPod(pod)) continue;
      this.#history.unwanted(uidOf(pod));
      await this.#client.delete(podResource, refOf(pod)).catch(unlessNotFound);
    }
    await this.#until(settleMs, 'deleted pods are gone', () =>
      this.#pods.store.list().map((pod) => `pod ${nameOf(pod)} (${nodeUid(pod)}) is still there`),
    );
    // sandboxes go when the collection of garbage comes round, once a minute
    await this.#until(90_000 + settleMs, 'nothing is left', () => this.#bed.left(new Set()));
    this.#throwFaults();
    for (const what of this.#bed.forgotten()) this.#options.log(`the runtime itself forgot an ${what}`);
  }

  /** Waits until `wrong` finds nothing. @throws on timeout, with its last findings */
  async #until(
    ms: number,
    what: string,
    wrong: () => readonly string[] | Promise<readonly string[]>,
  ): Promise<void> {
    const endsAt = performance.now() + ms;
    for (;;) {
      const found = await wrong();
      if (found.length === 0) return;
      if (performance.now() > endsAt) this.#throwFaults(`${what}, but after ${ms} ms:`, found);
      await delay(200);
    }
  }

  #throwFaults(what?: string, more: readonly string[] = []): void {
    const all = [...this.#history.faults, ...this.#faults, ...(what === undefined ? [] : [what, ...more])];
    if (all.length > 0) throw new Error(`${all.join('\n  ')}\n(seed ${this.#options.seed})`);
  }

  /** The node in the API server. */
  node(): Promise<Node> {
    return this.#client.get<Node>(nodeResource, { name: nodeName });
  }

  async #close(): Promise<void> {
    await this.#killAgent().catch(() => undefined);
    this.#stop.abort();
    await this.#client.close();
    await this.#server.stop();
  }
}

const refOf = (pod: Pod): { namespace: string; name: string } => ({
  namespace: 'default',
  name: nameOf(pod),
});

function unlessNotFound(reason: unknown): undefined {
  if (isNotFound(reason)) return undefined;
  throw reason;
}

/** Why a pod has not reached the final state of its kind; `undefined` when it has. */
function wrongWith(pod: Pod): string | undefined {
  const phase = pod.status?.phase ?? 'Pending';
  if (pod.metadata?.deletionTimestamp !== undefined) return `is still being deleted, ${phase}`;
  const states = statusesOf(pod).map(({ name, state }) => `${name} ${JSON.stringify(state)}`);
  const text = `is ${phase}: ${states.join(', ')}`;
  switch (outcomeOf(kindOf(pod))) {
    case 'Ready':
      return condition(pod, 'Ready') === 'True' ? undefined : text;
    case 'Ended':
      return phase === 'Succeeded' || phase === 'Failed' ? undefined : text;
    case 'Crashing':
      return statusesOf(pod).some(({ restartCount }) => restartCount > 0) ? undefined : text;
  }
}
