import { Agent } from '../agent/agent.ts';
import type { ApiClient } from '../api/client.ts';
import { nodeResource, podResource, type Resource } from '../api/resources.ts';
import { createApiClient, type HttpApiClient } from '../api/rest/http-client.ts';
import { EmbeddedApiServer } from '../apiserver/index.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { nameOf, namespaceOf } from '../kube/names.ts';
import type { KubeObject, Node, Pod } from '../kube/types.ts';
import { type AgentAround, BrokenClause } from './world.ts';

const nodeName = 'law';
const clock: Clock = systemClock;

interface Parts {
  readonly server: EmbeddedApiServer;
  /** The administrator's, and the agent's. */
  readonly clients: readonly [HttpApiClient, HttpApiClient];
  readonly agent: Agent;
  readonly onCreated: (pod: Pod) => void;
}

/** A whole agent around the provider of a clause, joined to an embedded API server; in real time. */
export class AgentNode {
  readonly client: ApiClient;
  readonly #clients: readonly HttpApiClient[];
  readonly #server: EmbeddedApiServer;
  readonly #agent: Agent;
  readonly #running: Promise<void>;
  readonly #pods: Pod[] = [];
  readonly #onCreated: (pod: Pod) => void;

  private constructor({ server, clients, agent, onCreated }: Parts) {
    this.#onCreated = onCreated;
    this.#server = server;
    this.#clients = clients;
    this.client = clients[0];
    this.#agent = agent;
    this.#running = agent.run(new AbortController().signal);
  }

  /** Starts the API server and the agent, and waits until the node is ready. @param onCreated called with each pod that is created */
  static async start(around: AgentAround, onCreated: (pod: Pod) => void): Promise<AgentNode> {
    const server = await EmbeddedApiServer.start({ minimalScheduler: false });
    const connect = (user: { readonly cert: string; readonly key: string }): HttpApiClient =>
      createApiClient({ server: server.url, ca: server.ca, ...user }, { clock, qps: 0 });
    const client = connect(server.clientCertificate(`system:node:${nodeName}`, ['system:nodes']));
    const agent = await Agent.create({ ...around, nodeName, client, clock });
    const node = new AgentNode({ server, clients: [connect(server.admin), client], agent, onCreated });
    await node.#ready().catch(async (reason: unknown) => {
      await node.stop();
      throw reason;
    });
    return node;
  }

  async #ready(): Promise<void> {
    await this.until(
      async () => conditionOf(await this.node(), 'Ready') === 'True',
      async () => `the node is not ready: ${JSON.stringify((await this.node())?.status?.conditions)}`,
    );
  }

  node(): Promise<Node | undefined> {
    return found(this.client.get<Node>(nodeResource, { name: nodeName }));
  }

  create<T extends KubeObject>(resource: Resource, object: T): Promise<T> {
    return this.client.create(resource, object);
  }

  /** Creates a pod on the node. @returns it as the API server has it */
  async createPod(pod: Pod): Promise<Pod> {
    const { uid: _, ...metadata } = pod.metadata ?? {};
    const { containers = [], ...spec } = pod.spec ?? {};
    const bound = { nodeName, automountServiceAccountToken: false, ...spec, containers };
    const created = await this.create<Pod>(podResource, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: bound,
    });
    this.#pods.push(created);
    this.#onCreated(created);
    return created;
  }

  pod(pod: Pod): Promise<Pod | undefined> {
    return found(this.client.get<Pod>(podResource, { namespace: namespaceOf(pod), name: nameOf(pod) }));
  }

  /** Waits until `holds` is true. @throws {BrokenClause} after `withinMs` */
  async until(holds: () => Promise<boolean>, seen: () => Promise<string>, withinMs = 120_000): Promise<void> {
    const end = clock.now() + withinMs;
    while (!(await holds())) {
      if (clock.now() >= end) throw new BrokenClause(`${await seen()} after ${withinMs} ms`);
      await clock.sleep(100);
    }
  }

  /** Deletes the pods, waits until they are gone, and ends the agent and the API server. */
  async stop(): Promise<void> {
    const gone = async (pod: Pod): Promise<void> => {
      const ref = { namespace: namespaceOf(pod), name: nameOf(pod) };
      await this.client.delete(podResource, ref, { gracePeriodSeconds: 1 }).catch(() => undefined);
      await this.until(
        async () => (await this.pod(pod)) === undefined,
        async () => `pod ${nameOf(pod)} is not gone`,
      );
    };
    try {
      await Promise.all(this.#pods.map(gone));
    } finally {
      await this.#agent.stop();
      await this.#running;
      await Promise.all(this.#clients.map((client) => client.close()));
      await this.#server.stop();
    }
  }
}

/** The status of a condition of a node. */
export const conditionOf = (node: Node | undefined, type: string): string | undefined =>
  node?.status?.conditions?.find((one) => one.type === type)?.status;

const found = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((reason: unknown) => {
    if (AgentError.from(reason).code === 'not_found') return undefined;
    throw reason;
  });
