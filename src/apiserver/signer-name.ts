import { bodyOf, fieldErrorReasons } from '../kube/validation/field-error.ts';
import { signerName } from '../kube/validation/signer-name.ts';
import type { FieldFault } from './status-error.ts';

/** Faults of the signer that an object names. */
export const signerFaults = (name: string): FieldFault[] =>
  [...signerName('spec.signerName', name)].map((error) => ({
    reason: fieldErrorReasons[error.type] as FieldFault['reason'],
    field: error.field,
    message: bodyOf(error),
  }));
