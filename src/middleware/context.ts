import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ApiClient } from '../api/client.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { fileName } from '../base/files/below.ts';
import { labelSelectorMatches, type LabelSelector } from '../kube/label-selector.ts';
import type { Logger } from '../base/logger.ts';
import { uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';

/** What a middleware may use of the node that it runs on. */
export interface MiddlewareContext {
  readonly nodeName: string;
  /** The directory for the agent's state. */
  readonly rootDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent in a standalone agent. */
  readonly client?: ApiClient;
}

/** Selects the pods that a rule or a middleware is about. */
export interface PodSelection {
  /** Absent: pods of all namespaces. */
  readonly namespaces?: readonly string[];
  /** Absent: pods with any labels. */
  readonly selector?: LabelSelector;
}

/** True when a pod is in one of the namespaces and its labels match. */
export const isSelected = ({ namespaces, selector }: PodSelection, { metadata }: Pod): boolean =>
  (namespaces?.includes(metadata?.namespace ?? 'default') ?? true) &&
  (selector === undefined || labelSelectorMatches(selector, metadata?.labels));

/** The directory of a middleware's files for a pod. It lies in the pod's own directory, which the agent removes with the pod. */
export const podDirOf = (rootDir: string, pod: Pod, middleware: string): string =>
  join(rootDir, 'pods', fileName(uidOf(pod), 'the uid of a pod'), 'middleware', middleware);

/** Replaces a file as a whole, so that a container never reads half of it. */
export function replaceFile(path: string, text: string, mode: number): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  const part = `${path}.new`;
  writeFileSync(part, text, { mode });
  renameSync(part, path);
}

/** The API client of a node that has one. @throws {AgentError} `failed_precondition` in a standalone agent */
export function requireClient({ client }: MiddlewareContext, what: string): ApiClient {
  if (client) return client;
  throw new AgentError('failed_precondition', `${what} needs an API server, and this agent is standalone`);
}
