import { AgentError } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import type { Container } from './types.ts';

type VolumeMount = NonNullable<Container['volumeMounts']>[number];

/**
 * True when a mount and everything below it is read-only. Follows kubelet `resolveRecursiveReadOnly`.
 *
 * @param supported true when the pod's runtime handler supports it
 * @throws {AgentError} `invalid_argument` when it is required but not possible
 */
export function isRecursiveReadOnly(mount: VolumeMount, supported: boolean): boolean {
  const mode = mount.recursiveReadOnly ?? 'Disabled';
  if (mode === 'Disabled') return false;
  const prefix = `volume ${goQuote(mount.name)} requested recursive read-only mode, but it is`;
  if (!mount.readOnly) throw bad(`${prefix} not read-only`);
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None')
    throw bad(`${prefix} not compatible with propagation ${goQuote(mount.mountPropagation)}`);
  if (mode === 'IfPossible') return supported;
  if (mode !== 'Enabled') throw bad(`unknown recursive read-only mode ${goQuote(mode)}`);
  if (!supported) throw bad(`${prefix} not supported by the runtime`);
  return true;
}

const bad = (message: string): AgentError => new AgentError('invalid_argument', message);
