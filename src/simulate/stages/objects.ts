import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { KubeObject } from '../../kube/types.ts';
import { isStageSet, stageSet, stageSetNames } from './sets.ts';
import { kwokVersion } from './stage.ts';

/** The kinds of kwok.x-k8s.io/v1alpha1 that a simulation reads. */
export const kwokKinds: readonly string[] = [
  ...['Stage', 'Logs', 'ClusterLogs', 'Exec', 'ClusterExec', 'Attach', 'ClusterAttach'],
  ...['PortForward', 'ClusterPortForward', 'ResourceUsage', 'ClusterResourceUsage', 'Metric'],
];

/** Parses the objects of a YAML text. @param where names the text in faults */
export function objectsOf(text: string, where: string): readonly KubeObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [fault] = document.errors;
    if (fault) throw new AgentError('invalid_argument', `${where}: ${fault.message}`);
    const object: unknown = document.toJS();
    if (object === null || object === undefined) return [];
    return checked(object, where);
  });
}

function checked(object: unknown, where: string): readonly KubeObject[] {
  const {
    apiVersion = '',
    kind = '',
    items,
  } = object as KubeObject & { readonly items?: readonly unknown[] };
  if (kind.endsWith('List') && Array.isArray(items)) return items.flatMap((item) => checked(item, where));
  if (apiVersion !== kwokVersion || !kwokKinds.includes(kind))
    throw new AgentError(
      'invalid_argument',
      `${where}: ${apiVersion}, ${kind} is not an object of a simulation: use ${kwokVersion} with ${kwokKinds.join(', ')}`,
    );
  return [object as KubeObject];
}

/**
 * Returns the objects of the sources of `--stages`: names of stage sets, files, and directories with `.yaml`, `.yml` and `.json` files.
 *
 * @throws {AgentError} `invalid_argument` naming the source and what is wrong with it
 */
export function objectsOfSources(sources: readonly string[]): readonly KubeObject[] {
  return sources.flatMap((source) => {
    if (isStageSet(source)) return stageSet(source).flatMap((text) => objectsOf(text, source));
    return filesOf(source).flatMap((file) => objectsOf(readFileSync(file, 'utf8'), file));
  });
}

function filesOf(source: string): readonly string[] {
  try {
    if (!statSync(source).isDirectory()) return [source];
    const names = readdirSync(source).filter((name) => /\.(ya?ml|json)$/.test(name));
    return names.sort().map((name) => join(source, name));
  } catch (cause) {
    const problem = `--stages ${source}: ${messageOf(cause)}; stage sets are ${stageSetNames.join(', ')}`;
    throw new AgentError('invalid_argument', problem, { cause });
  }
}
