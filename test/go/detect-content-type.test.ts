import { expect, test } from 'vitest';
import { detectContentType } from '../../src/go/detect-content-type.ts';
import { typeByExtension } from '../../src/go/type-by-extension.ts';

const text = 'text/plain; charset=utf-8';
const html = 'text/html; charset=utf-8';

test.for([
  ['', text],
  ['out1\nerr1\n', text],
  [' \t\n', text],
  ['\x1b[31mred\x1b[0m', text],
  ['a\0b', 'application/octet-stream'],
  ['\x07bell', 'application/octet-stream'],
  ['\xc3\xa4\xff', text],
  ['<html>', html],
  ['  \n<hTmL >x', html],
  ['<htmlx>', text],
  ['<html', text],
  ['<!-- x', html],
  ['<!--x', text],
  ['<!doctype html>', html],
  ['<p>', html],
  [' <?xml version', 'text/xml; charset=utf-8'],
  ['%PDF-1.7', 'application/pdf'],
  [' %PDF-1.7', text],
  ['\xfe\xff\0a', 'text/plain; charset=utf-16be'],
  ['\xff\xfea\0', 'text/plain; charset=utf-16le'],
  ['\xef\xbb\xbfa', text],
  ['\xef\xbb\xbf', text],
  ['GIF89a\0', 'image/gif'],
  ['\x89PNG\r\n\x1a\n', 'image/png'],
  ['RIFF\x01\x02\x03\x04WEBPVP8', 'image/webp'],
  ['RIFF\x01\x02\x03\x04WAVE', 'audio/wave'],
  ['\0\0\0\x10ftypabcd\0\0\0\0mp4 ', 'application/octet-stream'],
  ['\0\0\0\x14ftypabcd\0\0\0\0mp42', 'video/mp4'],
  ['\x1f\x8b\x08\0', 'application/x-gzip'],
  ['PK\x03\x04', 'application/zip'],
  ['\0asm', 'application/wasm'],
  [`${'x'.repeat(34)}LP`, 'application/vnd.ms-fontobject'],
  [`${'x'.repeat(512)}\0`, text],
])('%j is %s', ([data = '', type]) => {
  expect(detectContentType(Buffer.from(data, 'latin1'))).toBe(type);
});

test.for([
  ['a.json', 'application/json'],
  ['a.GZ', 'application/gzip'],
  ['a.tar.gz', 'application/gzip'],
  ['a.log', undefined],
  ['syslog', undefined],
  ['a.toString', undefined],
  ['index.html', html],
] as const)('%s is %s by its name', ([name, type]) => {
  expect(typeByExtension(name)).toBe(type);
});
