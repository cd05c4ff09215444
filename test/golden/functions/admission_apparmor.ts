import { admitAppArmor } from '../../../src/admission/admit-result.ts';
import { check, type Replay } from '../harness.ts';

export const replay: Replay = ({ in: input, out }) => {
  const { phase, validatorError } = input as { phase: string; validatorError: string | null };
  return check(
    out,
    admitAppArmor({ status: { phase } }, () => validatorError ?? undefined),
    { operation: input },
  );
};
