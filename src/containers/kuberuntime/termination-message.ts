import { resolve } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import type { ContainerStatus } from '../../provider/cri-messages.ts';
import { hasCode, type RuntimeFiles } from '../container/files.ts';
import { recordFromAnnotations } from './config/labels.ts';

/** Where a container finds its termination file: a path that is not absolute begins at the root. */
export const terminationPath = (path: string): string => resolve('/', path);

/** A termination message is at most this long, bytes. */
export const maxTerminationMessageBytes = 4096;
/** … and bytes. */
export const maxTerminationLogBytes = 2048;

/** The last lines of a container's log as plain text; what it throws becomes part of the message. */
export type LogTail = (logPath: string) => Promise<string>;

/**
 * What an exited container left to say: its termination file, or the end of its log where its policy allows that, it failed, and
 * the file says nothing. Follows `getTerminationMessage` and `readLastStringFromContainerLogs` (pkg/kubelet/kuberuntime).
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
  const wanted = terminationPath(path);
  const hostPath = mounts.find(({ containerPath }) => path !== '' && containerPath === wanted)?.hostPath;
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

/** The runtime's own words and the container's, joined. */
export const joinMessages = (runtime: string, own: string): string =>
  runtime === '' || own === '' ? runtime + own : `${runtime}: ${own}`;
