import { isAbsolute } from 'node:path';

/** What Linux says of each refusal, in Go's words; Node.js words many of them otherwise. */
const words: Readonly<Record<string, string>> = {
  E2BIG: 'argument list too long',
  EACCES: 'permission denied',
  EAGAIN: 'resource temporarily unavailable',
  EBADF: 'bad file descriptor',
  EBUSY: 'device or resource busy',
  EDQUOT: 'disk quota exceeded',
  EEXIST: 'file exists',
  EFBIG: 'file too large',
  EINTR: 'interrupted system call',
  EINVAL: 'invalid argument',
  EIO: 'input/output error',
  EISDIR: 'is a directory',
  ELOOP: 'too many levels of symbolic links',
  EMFILE: 'too many open files',
  EMLINK: 'too many links',
  ENAMETOOLONG: 'file name too long',
  ENFILE: 'too many open files in system',
  ENODEV: 'no such device',
  ENOENT: 'no such file or directory',
  ENOEXEC: 'exec format error',
  ENOMEM: 'cannot allocate memory',
  ENOSPC: 'no space left on device',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  ENOTSUP: 'operation not supported',
  ENXIO: 'no such device or address',
  EOPNOTSUPP: 'operation not supported',
  EOVERFLOW: 'value too large for defined data type',
  EPERM: 'operation not permitted',
  EPIPE: 'broken pipe',
  EROFS: 'read-only file system',
  ESRCH: 'no such process',
  ESTALE: 'stale NFS file handle',
  ETIMEDOUT: 'connection timed out',
  ETXTBSY: 'text file busy',
  EXDEV: 'invalid cross-device link',
};

/** Calls that Go names otherwise, or makes another of. */
const calls: Readonly<Record<string, string>> = {
  copyfile: 'open',
  fchmod: 'chmod',
  fchown: 'chown',
  fstat: 'stat',
  ftruncate: 'truncate',
  futime: 'chtimes',
  lutime: 'chtimes',
  mkdtemp: 'mkdir',
  opendir: 'open',
  realpath: 'lstat',
  rm: 'unlink',
  rmdir: 'remove',
  scandir: 'open',
  unlink: 'remove',
  utime: 'chtimes',
};

interface SystemError extends Partial<NodeJS.ErrnoException> {
  readonly dest?: string;
}

/**
 * What Go says of a call on a file or of a program that failed (`mkdir /a: read-only file system`, `exec: "x": executable file not found in $PATH`);
 * absent for all other faults, those of connections included.
 */
export function systemFault(reason: Error): string | undefined {
  const { code = '', syscall = '', path = '', dest, message = '' } = reason as SystemError;
  const why = Object.hasOwn(words, code) ? words[code] : undefined;
  if (why === undefined) return undefined;
  if (syscall.startsWith('spawn')) return programFault(path || syscall.slice('spawn '.length), code, why);
  // a text of our own around the fault stays
  if (!message.startsWith(`${code}: `)) return undefined;
  const call = Object.hasOwn(calls, syscall) ? calls[syscall] : syscall;
  return `${[call, path, dest].filter((part) => part !== undefined && part !== '').join(' ')}: ${why}`;
}

function programFault(program: string, code: string, why: string): string {
  if (program === '' || isAbsolute(program)) return `fork/exec ${program}: ${why}`;
  const isUnknown = code === 'ENOENT' && !program.includes('/');
  return `exec: "${program}": ${isUnknown ? 'executable file not found in $PATH' : why}`;
}
