import type { JsonObject } from './json.ts';
import { isObject, stringAt } from './json.ts';
import type { DeleteOptions } from './registry.ts';
import { badRequest, fault, type FieldFault, invalid } from './status-error.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** What every writing request may say in its query. */
export interface WriteQuery {
  readonly dryRun: boolean;
  readonly manager: string;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean;
}

const printable = (text: string): boolean => /^[^\p{Cc}\p{Cn}]*$/u.test(text);

/** Faults of `dryRun`, which is a list of what is left out. */
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

/** The default manager: the first part of the user agent. */
const managerOf = (agent: string | undefined): string =>
  (agent ?? 'unknown').split('/')[0]?.slice(0, 128) ?? 'unknown';

/** Reads the query of a write. @throws {StatusError} 422 */
export function readWriteQuery(
  query: URLSearchParams,
  agent: string | undefined,
  at: { readonly options: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions'; readonly apply: boolean },
): WriteQuery {
  const faults: FieldFault[] = [];
  const force = query.get('force');
  const given = query.get('fieldManager') ?? '';
  if (at.options === 'PatchOptions') {
    if (at.apply && given === '') faults.push(fault.required('fieldManager', 'is required for apply patch'));
    if (!at.apply && force !== null)
      faults.push(fault.forbidden('force', 'may not be specified for non-apply patch'));
  }
  if (given.length > 128) faults.push({ ...fault.tooLong('fieldManager', 128) });
  if (!printable(given))
    faults.push(fault.invalid('fieldManager', given, 'should only contain printable characters'));
  const dryRun = query.getAll('dryRun');
  faults.push(...dryRunFaults(dryRun));
  const validation = query.get('fieldValidation') ?? '';
  if (!['', 'Ignore', 'Strict', 'Warn'].includes(validation))
    faults.push(fault.unsupported('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']));
  if (faults.length > 0) throw invalid(at.options, 'meta.k8s.io', '', faults);
  return {
    dryRun: dryRun.length > 0,
    manager: given || managerOf(agent),
    fieldValidation: (validation || 'Warn') as FieldValidation,
    force: force === 'true' || force === '1' || force === '',
  };
}

const policies = ['Foreground', 'Background', 'Orphan'];

interface ReadDelete extends DeleteOptions {
  readonly dryRun: boolean;
}

function fromQuery(query: URLSearchParams): JsonObject {
  const out: Record<string, unknown> = {};
  const grace = query.get('gracePeriodSeconds');
  if (grace !== null) {
    if (!/^-?\d+$/.test(grace))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: invalid syntax`);
    out['gracePeriodSeconds'] = Number(grace);
  }
  if (query.has('orphanDependents')) out['orphanDependents'] = query.get('orphanDependents') === 'true';
  if (query.has('propagationPolicy')) out['propagationPolicy'] = query.get('propagationPolicy');
  if (query.has('dryRun')) out['dryRun'] = query.getAll('dryRun');
  return out;
}

/** Reads DeleteOptions from the body, or from the query when there is no body. @throws {StatusError} 422 */
export function readDeleteOptions(body: JsonObject | undefined, query: URLSearchParams): ReadDelete {
  const options = body ?? fromQuery(query);
  const faults: FieldFault[] = [];
  const policy = options['propagationPolicy'];
  const orphan = options['orphanDependents'];
  if (policy !== undefined && orphan !== undefined)
    faults.push(
      fault.invalid(
        'propagationPolicy',
        policy,
        'orphanDependents and deletionPropagation cannot be both set',
      ),
    );
  if (policy !== undefined && !policies.includes(String(policy)))
    faults.push(fault.unsupported('propagationPolicy', policy, [...policies, 'nil']));
  const dryRun = Array.isArray(options['dryRun']) ? (options['dryRun'] as string[]) : [];
  faults.push(...dryRunFaults(dryRun));
  if (faults.length > 0) throw invalid('DeleteOptions', 'meta.k8s.io', '', faults);
  const preconditions = isObject(options['preconditions']) ? options['preconditions'] : {};
  const propagation = orphan === true ? 'Orphan' : orphan === false ? 'Background' : policy;
  return {
    dryRun: dryRun.length > 0,
    ...(typeof options['gracePeriodSeconds'] === 'number' && {
      gracePeriodSeconds: options['gracePeriodSeconds'],
    }),
    ...(stringAt(preconditions, 'uid') && { uid: stringAt(preconditions, 'uid') }),
    ...(stringAt(preconditions, 'resourceVersion') && {
      resourceVersion: stringAt(preconditions, 'resourceVersion'),
    }),
    ...(propagation !== undefined && { propagation: propagation as 'Orphan' | 'Background' | 'Foreground' }),
  };
}
