import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { goName } from '../../apimachinery/api-types.ts';
import { tableOf } from '../../base/own.ts';

/** What the reference documentation says about a type and its fields. */
export interface Descriptions {
  /** Empty when nothing is known. */
  readonly type: string;
  readonly fields: ReadonlyMap<string, string>;
}

const nothing: Descriptions = { type: '', fields: new Map() };

/** The directory of the declarations of `@kubernetes/client-node`; undefined where the package is not installed. */
function findModels(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('@kubernetes/client-node')), 'gen', 'models');
  } catch {
    return undefined;
  }
}

let models: { readonly directory: string | undefined } | undefined;

const member = /\/\*\*\n\s*\* (.*)\n\s*\*\/\n\s*(?:export declare class \w|'([^']+)'\??:)/g;

/** Undoes what the generator of the declarations does: it escapes quotes and ends of comments, and joins paragraphs by two spaces. */
const restored = (text: string): string =>
  text
    .replace(/\\(["'\\])/g, '$1')
    .replaceAll('*_/', '*/')
    .replace(/(?<=[.:)`]) {2}(?=\S)/g, '\n\n')
    .trim();

/** Undoes what the generator does to names that are no identifiers, or reserved words: `_continue`, `x_kubernetes_map_type`. */
const apiName = (field: string): string =>
  field.startsWith('x_') ? field.replaceAll('_', '-') : field.replace(/^_/, '');

/** Reads the documentation comments of a declaration. */
export function readDescriptions(declaration: string): Descriptions {
  let type = '';
  const fields = new Map<string, string>();
  for (const [, text = '', field] of declaration.matchAll(member)) {
    if (field === undefined) type = restored(text);
    else fields.set(apiName(field), restored(text));
  }
  return { type, fields };
}

const surge =
  'How many more pods than desired there may be during an update: a number or a percentage of the desired pods.';
const unavailable =
  'How many of the desired pods may be unavailable during an update: a number or a percentage.';

/** Fields that the declarations describe by their type alone. */
const fieldTexts: Readonly<Record<string, string>> = tableOf({
  metadata: "The object's name, namespace, labels, annotations, owners and versions.",
  spec: 'What is desired.',
  status: 'What was observed last; written by controllers and node agents.',
  selector: 'Selects the objects by their labels.',
  'RollingUpdateDaemonSet.maxSurge': surge,
  'RollingUpdateDeployment.maxSurge': surge,
  'RollingUpdateDaemonSet.maxUnavailable': unavailable,
  'RollingUpdateDeployment.maxUnavailable': unavailable,
  'RollingUpdateStatefulSetStrategy.maxUnavailable': unavailable,
  'LeaseSpec.acquireTime': 'When the holder acquired the lease.',
  'LeaseSpec.renewTime': 'When the holder last renewed the lease.',
  'CoreV1Event.eventTime': 'When the event was first observed.',
  'EventsV1Event.eventTime': 'When the event was first observed.',
});

/** Returns the description of a field; for one of a type of its own that has none, that of the type. @param inner the type of the field's structs */
export function fieldDescription(
  { fields }: Descriptions,
  type: string,
  field: string,
  inner?: string,
): string | undefined {
  const text = fieldTexts[`${type}.${field}`] ?? fields.get(field);
  if (text !== undefined || inner === undefined) return text;
  return fieldTexts[field] ?? (descriptionsOf(inner).type || undefined);
}

/**
 * Returns the Kubernetes reference documentation of a type, which the published declarations of `@kubernetes/client-node` contain: this package
 * depends on it, and has no copy of the texts. A file is read each time, as documents are made once.
 *
 * @param type a name of the table of types, or that of a list: `Pod`, `PodList`, `CoreV1Event`
 */
export function descriptionsOf(type: string): Descriptions {
  models ??= { directory: findModels() };
  const { directory } = models;
  if (directory === undefined) return nothing;
  const names = /(^|[a-z])V\d/.test(type) ? [type, `V1${goName(type)}`] : [`V1${type}`];
  const file = names.map((name) => join(directory, `${name}.d.ts`)).find((path) => existsSync(path));
  return file === undefined ? nothing : readDescriptions(readFileSync(file, 'utf8'));
}
