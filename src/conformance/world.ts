import type { AgentOptions } from '../agent/agent-options.ts';
import type { Clock } from '../base/clock.ts';
import type { Pod } from '../kube/types.ts';
import type { PodProvider } from '../provider/provider.ts';

/** What a container of a clause is to do. All spans in ms. */
export interface Behaviour {
  /** From its start to its end; absent: it runs until it is stopped. */
  readonly runMs?: number;
  /** With which it ends by itself. Default: 0. */
  readonly exitCode?: number;
  /** From the stop signal to its end. Default: 0. */
  readonly stopDelayMs?: number;
  /** With which it ends when it is stopped. Default: 0. */
  readonly stopExitCode?: number;
  /** From its creation to its start, for providers whose time is simulated. Default: 0. */
  readonly startDelayMs?: number;
  /** With which commands in it end, for providers that do not run them. Default: 0. */
  readonly execExitCode?: number;
}

/** A provider in a world of its own, made anew for each clause. */
export interface ProviderWorld {
  readonly provider: PodProvider;
  /** The clock of the provider: a fake one is moved by the suite. Default: real time, for which the suite waits. */
  readonly clock?: Clock & { advance?(ms: number): Promise<void> };
  /**
   * Makes a container of `pod` behave as a clause needs it. Default: a shell command, and the annotations of podtender's memory provider.
   * `undefined`: the backend has no containers that behave so, and the clause does not apply.
   */
  readonly behave?: (pod: Pod, container: string, behaviour: Behaviour) => Pod | undefined;
  /** True when the backend knows pods by namespace and name alone: a pod then waits until another of its name is gone. Default: false. */
  readonly oneByName?: boolean;
  /** Makes the next call of a kind fail at the backend; absent: the clauses about faults do not apply. */
  readonly failNext?: (call: 'listPods' | 'getPodStatus' | 'killPod' | 'syncPod', reason: Error) => void;
  /** Makes the next call of a kind hang at the backend until it is cancelled; absent: the clauses about that do not apply. */
  readonly hangNext?: (call: 'syncPod') => void;
  /**
   * The command of a container that serves on a port, `undefined` when the backend has none: HTTP with status 200 at `/healthy` and an error at
   * any other path, or the gRPC health service, which knows no service but the empty one. Absent: clauses about connections do not apply.
   */
  readonly serve?: (protocol: 'http' | 'grpc', port: number) => readonly string[] | undefined;
  /** Ends the provider and makes another over the same backend, as a restart of the agent does; absent: clauses about that do not apply. */
  readonly restart?: () => Promise<PodProvider>;
  /** Gets the results of the node's probes, on which the provider restarts containers. Absent: clauses about that do not apply. */
  readonly useProbes?: (results: Readonly<Record<'liveness' | 'startup', ProbeResults>>) => void;
  /** The options of an agent around the provider; absent: clauses about what an agent adds to containers do not apply. */
  readonly agent?: () => AgentAround;
  /** How long the suite waits for what should happen soon, ms. Default: 20 s, in real time 60 s, as the machine may be busy. */
  readonly soonMs?: number;
  /** The image of the clauses' containers. Default: `busybox`. */
  readonly image?: string;
  /** What the backend can do beyond the provider's methods. Default: none of it; the clauses that need it do not apply. */
  readonly abilities?: readonly Ability[];
  /** What the backend cannot do, although its provider has the methods. Default: nothing. */
  readonly lacks?: readonly Lack[];
  /** Removes what the clause has left. @param uids the pods that it has made */
  readonly close?: (uids: readonly string[]) => Promise<void> | void;
}

/**
 * What the backend of a provider can do: containers run the `command` of their spec (`commands`: a shell and the usual programs), and their
 * `lifecycle` handlers (`hooks`), commands can have a terminal (`terminals`), and the backend of a provider with `probedBy: 'provider'` really
 * runs the probes (`probes`).
 */
export type Ability = 'commands' | 'hooks' | 'terminals' | 'probes';

/**
 * What a backend may lack: a back-off that syncs report (`backOff`: it restarts containers by itself), commands that really run in
 * containers (`exec`), events of the runtime behind `onPodEvent` (`events`), `sidecars`, and syncs that report failed starts
 * (`startReports`: it starts containers after the sync), and calls of the backend behind listings and statuses (`reads`: they come from a watch).
 */
export type Lack = 'backOff' | 'exec' | 'events' | 'sidecars' | 'startReports' | 'reads';

/** What an agent is made of: its folder, and how it makes the provider that is checked. */
export type AgentAround = Pick<AgentOptions, 'rootDir' | 'makeProvider' | 'mountsVolumes'>;

/** The latest results of one kind of probe by container ID. */
export interface ProbeResults {
  get(containerId: string): 'Success' | 'Failure' | 'Unknown' | undefined;
}

/** Returns how long the suite waits for what should happen soon, ms. */
export const soonMsOf = ({ soonMs, clock }: ProviderWorld): number =>
  soonMs ?? (clock?.advance ? 20_000 : 60_000);

/** Makes a world, or just a provider that keeps real time; called once for each clause. */
export type MakeWorld = () => ProviderWorld | PodProvider | Promise<ProviderWorld | PodProvider>;

/**
 * A clause was broken; the message says what was seen.
 *
 * @example
 * throw new BrokenClause('the exit code is 0, and the container was killed');
 */
export class BrokenClause extends Error {
  override readonly name = 'BrokenClause';
}
