import {
  type Faults,
  invalid,
  invalidEach,
  required,
  tooLong,
} from '../../../kube/validation/field-error.ts';
import { qualifiedNameRule } from '../../../kube/validation/name-rules.ts';

const most = { parameters: 512, bytes: 256 * 1024 } as const;

/** Validates the name of a provisioner, in any case. */
export function* provisioner(field: string, name: string): Faults {
  if (name === '') yield required(field);
  else {
    const lower = name.toLowerCase();
    yield* invalidEach(field, lower, qualifiedNameRule(lower));
  }
}

/** Validates parameters of a class: their number, keys and size. */
export function* parameters(
  field: string,
  map: Readonly<Record<string, unknown>>,
  isRequired = false,
): Faults {
  const entries = Object.entries(map);
  if (entries.length > most.parameters) {
    yield tooLong(field, most.parameters);
    return;
  }
  if (Object.hasOwn(map, '')) yield invalid(field, '', 'field can not be empty.');
  const bytes = entries.reduce(
    (sum, [key, value]) =>
      sum + Buffer.byteLength(key) + Buffer.byteLength(typeof value === 'string' ? value : ''),
    0,
  );
  if (bytes > most.bytes) yield tooLong(field, most.bytes);
  if (isRequired && entries.length === 0) yield required(field, 'must contain at least one key/value pair');
}
