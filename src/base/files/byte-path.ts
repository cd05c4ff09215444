/**
 * Converts a path to a byte path, which holds each byte as one character. File names from containers or other machines need not be UTF-8,
 * and reading them as text would lose them. List directories with {@link byteNames}, and call the file system with {@link onDisk}.
 */
export const bytePath = (path: string): string => Buffer.from(path).toString('latin1');

/** The encoding that returns file names as parts of a byte path. */
export const byteNames = 'latin1';

/** The bytes of a byte path on disk. */
export const onDisk = (path: string): Buffer => Buffer.from(path, byteNames);

/** Decodes a byte path as UTF-8 text. */
export const textOfPath = (path: string): string => onDisk(path).toString();
