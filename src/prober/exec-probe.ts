import { AgentError, messageOf } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import { goDuration } from '../kube/duration.ts';
import { nameOf, namespaceOf, uidOf } from '../kube/names.ts';
import type { Container } from '../kube/types.ts';
import type { ContainerRef } from '../provider/refs.ts';
import type { ProbeHandler } from './prober.ts';

/** The limit for the output of a probe, bytes; the rest is cut off. */
const maxOutputBytes = 10 * 1024;

/** Runs a command in a container: a provider's `execSync`. */
export interface ExecRunner {
  execSync(
    container: ContainerRef,
    command: readonly string[],
    timeoutMs: number,
  ): Promise<{ readonly exitCode: number; readonly stdout: Buffer; readonly stderr: Buffer }>;
  /** Returns the probe's command with `$(NAME)` replaced from the container's environment variables. */
  expand(command: readonly string[], container: Container): readonly string[];
}

/** Makes the exec probe handler, which succeeds when the command exits with 0. Follows kubelet `probe/exec`. */
export const execProbe =
  (runner: ExecRunner): ProbeHandler =>
  async ({ target: { pod, container, probe }, containerId, timeoutMs }) => {
    let command: readonly string[];
    try {
      command = runner.expand(probe.exec?.command ?? [], container);
    } catch (reason) {
      // no later attempt makes it shorter
      return { outcome: 'failure', output: `command cannot be run: ${messageOf(reason)}` };
    }
    const ref: ContainerRef = {
      podUid: uidOf(pod),
      namespace: namespaceOf(pod),
      pod: nameOf(pod),
      container: container.name,
      id: containerId,
    };
    try {
      const { exitCode, stdout, stderr } = await runner.execSync(ref, command, timeoutMs);
      const output = Buffer.concat([stdout, stderr]).toString('utf8', 0, maxOutputBytes);
      return { outcome: exitCode === 0 ? 'success' : 'failure', output };
    } catch (reason) {
      if (!(reason instanceof AgentError) || reason.code !== 'deadline_exceeded') throw reason;
      const line = goQuote(command.join(' '));
      return {
        outcome: 'failure',
        output: `command timed out: ${line} timed out after ${goDuration(timeoutMs)}`,
      };
    }
  };
