import { EvalError, type Value } from '../values/value.ts';
import type { Frame, Run } from './frame.ts';

/** Makes a call; one that ends in an error has its cost too. */
export function charged(frame: Frame, call: () => Value): Value {
  try {
    return call();
  } catch (reason) {
    if (reason instanceof EvalError) frame.spend(1);
    throw reason;
  }
}

/** Evaluates; an error becomes the result. */
export function attempt(run: Run, frame: Frame): Value | EvalError {
  try {
    return run(frame);
  } catch (reason) {
    if (reason instanceof EvalError) return reason;
    throw reason;
  }
}
