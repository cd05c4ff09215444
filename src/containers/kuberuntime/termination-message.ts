import { resolve } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import type { ContainerStatus } from '../../provider/cri-messages.ts';
import { hasCode, type RuntimeFiles } from '../container/files.ts';
import { recordFromAnnotations } from './config/labels.ts';

/** Returns the absolute path of a container's termination file; a relative path starts at the root. */
export const terminationPath = (path: string): string => resolve('/', path);

/** Maximum length of a termination message, bytes. */
export const maxTerminationMessageBytes = 4096;
/** … and this number of bytes. */
export const maxTerminationLogBytes = 2048;

/** Returns the last lines of a container's log as plain text; its error becomes part of the message. */
export type LogTail = (logPath: string) => Promise<string>;

/**
 * Returns the termination message of an exited container: its termination file, or the end of its log when its policy allows that, it
 * failed, and the file is empty. Follows `getTerminationMessage` and `readLastStringFromContainerLogs` (pkg/kubelet/kuberuntime).
 */
export async function terminationMessage(
  status: ContainerStatus,
  files: Pick<RuntimeFiles, 'readEnd'>,
  logTail: LogTail,
): Promise<string> {
  const { terminationMessagePath, terminationMessagePolicy } = recordFromAnnotations(status.annotations);
  const mayReadLogs =
    terminationMessagePolicy === 'FallbackToLogsOnError' &&
    (status.exitCode ?? 0) !== 0 &&
    status.reason !== 'ContainerCannotRun';
  const written = await terminationFile(status, terminationMessagePath, files);
  if (written !== '' || !mayReadLogs || !status.logPath) return written;
  try {
    return lastBytes(await logTail(status.logPath), maxTerminationLogBytes);
  } catch (reason) {
    return `Error on reading termination message from logs: ${messageOf(reason)}`;
  }
}

async function terminationFile(
  { mounts = [] }: ContainerStatus,
  path: string,
  files: Pick<RuntimeFiles, 'readEnd'>,
): Promise<string> {
  const expected = terminationPath(path);
  const hostPath = mounts.find(({ containerPath }) => path !== '' && containerPath === expected)?.hostPath;
  if (hostPath === undefined) return '';
  try {
    return (await files.readEnd(hostPath, maxTerminationMessageBytes)).toString('utf8');
  } catch (reason) {
    if (hasCode(reason, 'ENOENT')) return '';
    return `Error on reading termination log ${hostPath}: ${messageOf(reason)}`;
  }
}

const lastBytes = (text: string, limit: number): string =>
  Buffer.from(text).subarray(-limit).toString('utf8');

/** Joins the runtime's message and the container's own. */
export const joinMessages = (runtime: string, own: string): string =>
  runtime === '' || own === '' ? runtime + own : `${runtime}: ${own}`;
