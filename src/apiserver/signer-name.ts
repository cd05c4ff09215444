import { signerName } from '../kube/validation/signer-name.ts';
import { causeOf, type FieldFault } from '../apimachinery/status-error.ts';

/** Faults of the signer that an object names. */
export const signerFaults = (name: string): FieldFault[] =>
  [...signerName('spec.signerName', name)].map(causeOf);
