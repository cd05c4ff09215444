import { AgentError } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import type { Container } from './types.ts';

type VolumeMount = NonNullable<Container['volumeMounts']>[number];

/**
 * Whether a mount is read-only with all below it. Follows kubelet `resolveRecursiveReadOnly`.
 *
 * @param supported whether the pod's runtime handler can do it
 * @throws {AgentError} `invalid_argument` when it has to be and cannot
 */
export function isRecursiveReadOnly(mount: VolumeMount, supported: boolean): boolean {
  const mode = mount.recursiveReadOnly ?? 'Disabled';
  if (mode === 'Disabled') return false;
  const asked = `volume ${goQuote(mount.name)} requested recursive read-only mode, but it is`;
  if (!mount.readOnly) throw bad(`${asked} not read-only`);
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None')
    throw bad(`${asked} not compatible with propagation ${goQuote(mount.mountPropagation)}`);
  if (mode === 'IfPossible') return supported;
  if (mode !== 'Enabled') throw bad(`unknown recursive read-only mode ${goQuote(mode)}`);
  if (!supported) throw bad(`${asked} not supported by the runtime`);
  return true;
}

const bad = (message: string): AgentError => new AgentError('invalid_argument', message);
