const utf8 = (type: string): string => `${type}; charset=utf-8`;

/** Extensions by media type: the built-in table of Go's `mime` package. */
const extensions: Readonly<Record<string, string>> = {
  'application/gzip': 'gz',
  'application/json': 'json',
  'application/msword': 'doc',
  'application/octet-stream': 'bin com exe',
  'application/pdf': 'pdf',
  'application/postscript': 'ai eps ps',
  'application/rdf+xml': 'rdf',
  'application/rtf': 'rtf',
  'application/vnd.android.package-archive': 'apk',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.ms-powerpoint': 'ppt',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/wasm': 'wasm',
  'application/xhtml+xml': 'xht xhtml',
  'application/zip': 'zip',
  'audio/flac': 'flac',
  'audio/mp4': 'm4a',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'oga ogg opus',
  'audio/wav': 'wav',
  'audio/webm': 'webm',
  'image/apng': 'apng',
  'image/avif': 'avif',
  'image/bmp': 'bmp',
  'image/gif': 'gif',
  'image/jpeg': 'jfif jpeg jpg pjp pjpeg',
  'image/png': 'png',
  'image/svg+xml': 'svg',
  'image/tiff': 'tif tiff',
  'image/vnd.microsoft.icon': 'ico',
  'image/webp': 'webp',
  'image/x-xbitmap': 'xbm',
  'message/rfc822': 'eml',
  'video/mp4': 'mp4',
  'video/ogg': 'ogv',
  [utf8('text/calendar')]: 'ics',
  [utf8('text/css')]: 'css',
  [utf8('text/csv')]: 'csv',
  [utf8('text/html')]: 'ehtml htm html shtml',
  [utf8('text/javascript')]: 'js mjs',
  [utf8('text/plain')]: 'text txt',
  [utf8('text/vtt')]: 'vtt',
  [utf8('text/xml')]: 'xbl xml xsl',
};

let byExtension: ReadonlyMap<string, string> | undefined;

/** Returns the media type for a file name like Go's `mime.TypeByExtension`; `undefined` for an unknown extension. */
export function typeByExtension(name: string): string | undefined {
  byExtension ??= new Map(
    Object.entries(extensions).flatMap(([type, list]) => list.split(' ').map((one) => [one, type] as const)),
  );
  const dot = name.lastIndexOf('.');
  return dot < 0 ? undefined : byExtension.get(name.slice(dot + 1).toLowerCase());
}
