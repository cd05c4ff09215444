import type { JsonObject } from '../../apimachinery/json.ts';
import { listAt, objectAt, textOf } from '../../apimachinery/json.ts';
import type { DeleteOptions } from '../registry/deletion.ts';
import { goQuote, isPrintable } from '../../go/go-quote.ts';
import { isTrue } from '../request/request.ts';
import { badRequest, fault, type FieldFault, invalid } from '../../apimachinery/status-error.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** Query parameters of every write. */
export interface WriteQuery {
  readonly dryRun: boolean;
  readonly manager: string;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean;
}

/** Returns the faults of `dryRun`, a list of the stages to skip. */
const dryRunFaults = (values: readonly string[]): FieldFault[] =>
  values.every((value) => value === 'All')
    ? []
    : [
        {
          reason: 'FieldValueNotSupported',
          field: 'dryRun',
          message: `Unsupported value: ${JSON.stringify(values)}: supported values: "All"`,
        },
      ];

/** Returns the default manager: the printable characters of the user agent's first part, up to the maximum length. */
function managerOf(agent = ''): string {
  let name = '';
  for (const character of (agent.split('/')[0] ?? '').split('').filter(isPrintable)) {
    if (Buffer.byteLength(name + character) > managerMost) break;
    name += character;
  }
  return name === '' ? 'unknown' : name;
}

const managerMost = 128;

interface WriteKind {
  readonly options: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions';
  readonly apply: boolean;
}

/** Parses the query of a write. @throws {StatusError} 422 */
export function readWriteQuery(query: URLSearchParams, agent: string | undefined, at: WriteKind): WriteQuery {
  const manager = query.get('fieldManager') ?? '';
  const dryRun = query.getAll('dryRun');
  const validation = query.get('fieldValidation') ?? '';
  const faults = [...applyFaults(query, at), ...managerFaults(manager), ...dryRunFaults(dryRun)];
  if (!['', 'Ignore', 'Strict', 'Warn'].includes(validation))
    faults.push(fault.unsupported('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']));
  if (faults.length > 0) throw invalid(at.options, 'meta.k8s.io', '', faults);
  return {
    dryRun: dryRun.length > 0,
    manager: manager || managerOf(agent),
    fieldValidation: (validation || 'Warn') as FieldValidation,
    force: isTrue(query.get('force')),
  };
}

/** Returns the options of a write as an object. */
export const optionsOf = (kind: WriteKind['options'], query: WriteQuery): JsonObject => ({
  kind,
  apiVersion: 'meta.k8s.io/v1',
  ...(query.dryRun && { dryRun: ['All'] }),
  ...(kind === 'PatchOptions' && query.force && { force: true }),
  fieldManager: query.manager,
  fieldValidation: query.fieldValidation,
});

/** Only apply requires a manager and may be forced. */
function applyFaults(query: URLSearchParams, { options, apply }: WriteKind): FieldFault[] {
  if (options !== 'PatchOptions') return [];
  if (!apply)
    return query.has('force') ? [fault.forbidden('force', 'may not be specified for non-apply patch')] : [];
  return query.get('fieldManager') ? [] : [fault.required('fieldManager', 'is required for apply patch')];
}

function managerFaults(manager: string): FieldFault[] {
  const faults: FieldFault[] = [];
  if (Buffer.byteLength(manager) > managerMost) faults.push(fault.tooLong('fieldManager', managerMost));
  let position = 0;
  for (const character of manager) {
    if (!isPrintable(character))
      faults.push({
        reason: 'FieldValueInvalid',
        field: 'fieldManager',
        message: `Invalid value: ${goQuote(manager)}: invalid character ${shown(character)} (at position ${position})`,
      });
    position += Buffer.byteLength(character);
  }
  return faults;
}

/** Formats a character like Go's `%#U`. */
const shown = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

const policies = ['Foreground', 'Background', 'Orphan'];

interface ReadDelete extends DeleteOptions {
  readonly dryRun: boolean;
  /** Whether dependents are to be deleted, explicitly. */
  readonly withDependents: boolean;
}

function fromQuery(query: URLSearchParams): JsonObject {
  const out: Record<string, unknown> = {};
  const grace = query.get('gracePeriodSeconds');
  if (grace !== null) {
    if (!/^-?\d+$/.test(grace))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: invalid syntax`);
    if (BigInt.asIntN(64, BigInt(grace)) !== BigInt(grace))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: value out of range`);
    out['gracePeriodSeconds'] = Number(grace);
  }
  const orphan = query.get('orphanDependents');
  if (orphan !== null) out['orphanDependents'] = isTrue(orphan);
  if (query.has('propagationPolicy')) out['propagationPolicy'] = query.get('propagationPolicy');
  if (query.has('dryRun')) out['dryRun'] = query.getAll('dryRun');
  const [uid, resourceVersion] = [query.get('uid'), query.get('resourceVersion')];
  out['preconditions'] = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
  return out;
}

function propagationFaults(policy: unknown, orphan: unknown): FieldFault[] {
  if (policy === undefined) return [];
  const both = 'orphanDependents and deletionPropagation cannot be both set';
  return [
    ...(orphan === undefined ? [] : [fault.invalid('propagationPolicy', policy, both)]),
    ...(policies.includes(textOf(policy))
      ? []
      : [fault.unsupported('propagationPolicy', policy, [...policies, 'nil'])]),
  ];
}

/** Parses DeleteOptions in the body, or in the query when there is no body. @throws {StatusError} 422 */
export function readDeleteOptions(body: JsonObject | undefined, query: URLSearchParams): ReadDelete {
  const options = body ?? fromQuery(query);
  const { propagationPolicy, orphanDependents, gracePeriodSeconds } = options;
  const dryRun = listAt(options, 'dryRun') as readonly string[];
  const faults = [...propagationFaults(propagationPolicy, orphanDependents), ...dryRunFaults(dryRun)];
  if (faults.length > 0) throw invalid('DeleteOptions', 'meta.k8s.io', '', faults);
  const preconditions = objectAt(options, 'preconditions');
  const { uid, resourceVersion } = preconditions;
  const propagation =
    typeof orphanDependents === 'boolean' ? (orphanDependents ? 'Orphan' : 'Background') : propagationPolicy;
  return {
    dryRun: dryRun.length > 0,
    withDependents: orphanDependents === false,
    ...(typeof gracePeriodSeconds === 'number' && { gracePeriodSeconds }),
    ...(typeof uid === 'string' && { uid }),
    ...(typeof resourceVersion === 'string' && { resourceVersion }),
    ...(propagation !== undefined && { propagation: propagation as 'Orphan' | 'Background' | 'Foreground' }),
  };
}
