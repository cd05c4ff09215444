import type { JsonObject } from '../../apimachinery/json.ts';
import { tableOf } from '../../base/own.ts';
import type { Version } from './openapi-schemas.ts';

/** A parameter of a request's path or query. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: 'string' | 'boolean' | 'integer';
  readonly description: string;
}

const query = (
  name: string,
  description: string,
  type: Parameter['type'] = 'string',
): readonly [string, Parameter] => [name, { name, in: 'query', type, description }];
const flag = (name: string, description: string): readonly [string, Parameter] =>
  query(name, description, 'boolean');
const amount = (name: string, description: string): readonly [string, Parameter] =>
  query(name, description, 'integer');

const queries: ReadonlyMap<string, Parameter> = new Map([
  flag('allowWatchBookmarks', 'Whether the watch may send bookmarks, which report its resource version.'),
  query('command', 'The command to run: one parameter for each of its words.'),
  query('container', 'The container; it may be absent for a pod with one container.'),
  query('continue', 'Where to go on: metadata.continue of the page before this one.'),
  query('dryRun', '"All": the request is judged and answered, and nothing is stored.'),
  query('fieldManager', 'Who changes the fields; at most 128 printable characters.'),
  query('fieldSelector', 'Only objects whose fields match the selector; default: all.'),
  query('fieldValidation', 'What unknown and duplicate fields lead to: Ignore, Warn (default) or Strict.'),
  flag('follow', 'Whether to go on sending what is logged.'),
  flag('force', 'Whether to take fields over from other managers; only for apply.'),
  amount(
    'gracePeriodSeconds',
    'Seconds until the object is deleted; zero: at once; default: that of its type.',
  ),
  flag('insecureSkipTLSVerifyBackend', "Whether to leave the kubelet's certificate unchecked."),
  query('labelSelector', 'Only objects whose labels match the selector; default: all.'),
  amount('limit', 'Maximum number of objects in a page; zero: no pages.'),
  amount('limitBytes', 'Maximum bytes to read.'),
  flag('orphanDependents', 'Deprecated in favour of propagationPolicy: whether dependents lose their owner.'),
  query('path', 'The path of the request to the target.'),
  query('ports', 'The ports to forward.'),
  query('pretty', '"true": indented output; default for browsers, curl and wget.'),
  flag('previous', 'Whether to read the log of the container that ended before.'),
  query('propagationPolicy', 'What becomes of dependents: Orphan, Background or Foreground.'),
  query('resourceVersion', 'The version to read, or from which to watch.'),
  query('resourceVersionMatch', 'How resourceVersion applies to a list: Exact or NotOlderThan.'),
  flag('sendInitialEvents', 'Whether the watch begins with all objects, and a bookmark after these.'),
  amount('sinceSeconds', 'Only lines of this many seconds until now.'),
  flag('stderr', 'Whether to send the standard error output.'),
  flag('stdin', 'Whether to read the standard input.'),
  flag('stdout', 'Whether to send the standard output.'),
  query('stream', 'All, Stdout or Stderr.'),
  amount('tailLines', 'Number of lines from the end.'),
  amount('timeoutSeconds', 'Seconds after which the request ends.'),
  flag('timestamps', 'Whether each line begins with its time.'),
  flag('tty', 'Whether to use a terminal.'),
  flag('watch', 'Whether to go on with the changes of what is listed.'),
]);

/** Returns parameters of the query by name, separated by spaces. */
export const queriesOf = (names: string): readonly Parameter[] =>
  names.split(' ').flatMap((name) => queries.get(name) ?? []);

const listNames =
  'allowWatchBookmarks continue fieldSelector labelSelector limit resourceVersion resourceVersionMatch sendInitialEvents timeoutSeconds watch';

/** Parameters of the query by what a request does. */
export const parametersFor: Readonly<
  Record<'list' | 'write' | 'patch' | 'delete' | 'deletecollection', readonly Parameter[]>
> = {
  list: queriesOf(listNames),
  write: queriesOf('dryRun fieldManager fieldValidation'),
  patch: queriesOf('dryRun fieldManager fieldValidation force'),
  delete: queriesOf('dryRun gracePeriodSeconds orphanDependents propagationPolicy'),
  deletecollection: queriesOf(
    'continue dryRun fieldSelector gracePeriodSeconds labelSelector limit orphanDependents propagationPolicy resourceVersion resourceVersionMatch timeoutSeconds',
  ),
};

/** Parameters of subresources that are not objects, by subresource. */
export const connectQueries: Readonly<Record<string, string>> = tableOf({
  attach: 'container stderr stdin stdout tty',
  exec: 'command container stderr stdin stdout tty',
  log: 'container follow insecureSkipTLSVerifyBackend limitBytes pretty previous sinceSeconds stream tailLines timestamps',
  portforward: 'ports',
  proxy: 'path',
});

const inPath = (name: string, description: string): Parameter => ({
  name,
  in: 'path',
  type: 'string',
  description,
});

/** Returns the parameters in a path's braces. @param kind the kind of object that has the name */
export const pathParameters = (path: string, kind: string): readonly Parameter[] =>
  [...path.matchAll(/\{(\w+)\}/g)]
    .map(([, name = '']) => name)
    .sort()
    .map((name) => {
      if (name === 'name') return inPath(name, `Name of the ${kind}.`);
      return inPath(
        name,
        name === 'namespace' ? 'Namespace of the object.' : 'The path of the request to the target.',
      );
    });

/** Returns a parameter as a version of OpenAPI describes it. */
export function parameterSchema(
  { name, in: place, type, description }: Parameter,
  version: Version,
): JsonObject {
  const schema = { type, uniqueItems: true };
  const head = { description, in: place, name, ...(place === 'path' && { required: true }) };
  return version === 3 ? { ...head, schema } : { ...head, ...schema };
}
