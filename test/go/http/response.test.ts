import { expect, test } from 'vitest';
import { readAtMost } from '../../../src/go/http/body.ts';
import { BufferedReader, eof, type Reading } from '../../../src/go/http/buffered-reader.ts';
import { readAnswer } from '../../../src/go/http/response.ts';

function* whole(reader: BufferedReader): Reading<string> {
  const { statusCode, contentLength, body } = yield* readAnswer(reader);
  const bytes = yield* readAtMost(body, 10_240);
  return `${statusCode} ${contentLength} ${bytes.length > 99 ? bytes.length : bytes.toString('latin1')}`;
}

/** What comes of an answer that arrives in such pieces and then ends; `waits`: it never does. */
function read(pieces: readonly string[], end: Error | 'waits' = eof): string {
  const reader = new BufferedReader();
  const reading = whole(reader);
  try {
    for (const piece of pieces) {
      reader.push(Buffer.from(piece, 'latin1'));
      const { done, value } = reading.next();
      if (done) return value;
    }
    if (end !== 'waits') reader.end(end);
    const { done, value } = reading.next();
    return done ? value : 'waits';
  } catch (reason) {
    return (reason as Error).message.replace('net/http: HTTP/1.x transport connection broken: ', 'broken: ');
  }
}

const head = 'HTTP/1.1 200 OK\r\n';
const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
const long = 'x'.repeat(11_000);

const cases = [
  ['', 'EOF'],
  ['HTTP/1.1 200 OK', 'broken: unexpected EOF'],
  ['HTTP/1.1', 'broken: malformed HTTP response "HTTP/1.1"'],
  ['HTTP/1.1 ', 'broken: malformed HTTP status code ""'],
  ['HTTP/1.1  200\n\n', '200 -1 '],
  ['HTTP/1.1 +20 x\n\n', '20 -1 '],
  ['HTTP/1.1 -00 x\n\n', '0 -1 '],
  ['HTTP/1.1 2x0 x\n\n', 'broken: malformed HTTP status code "2x0"'],
  ['HTTP/11 200 x\n\n', 'broken: malformed HTTP version "HTTP/11"'],
  ['HTTP/0.9 200 x\nTransfer-Encoding: x\n\nb', '200 -1 b'],
  ['HTTP/0.0 200 x\nTransfer-Encoding: x\n\nb', 'broken: unsupported transfer encoding: "x"'],
  [`${head} A: b\r\n\r\n`, 'broken: malformed MIME header initial line: " A: b"'],
  [`${head} ${'x'.repeat(90)}\r\n\r\n`, 'broken: message too large'],
  [`${head}A: b\r\n c\r\n\t d\r\n\r\nx`, '200 -1 x'],
  [`${head}A (b): c\r\n d\r\n\r\n`, 'broken: malformed MIME header line: "A (b): c d"'],
  [`${head}x-a: \u0001\r\n\r\n`, 'broken: malformed MIME header line: "X-A: \\x01"'],
  [`${head}x-${long}: y\r\n\r\nb`, '200 -1 b'],
  [`${head}Content-Length: 9223372036854775808\r\n\r\n`, 'broken: bad Content-Length "9223372036854775808"'],
  [`${head}Content-Length: 3\r\n\r\nab`, 'unexpected EOF'],
  [`${head}Content-Length: 3\r\ncontent-length: 3 \r\n\r\nabcd`, '200 3 abc'],
  [`${head}Content-Length: 0\r\n\r\nab`, '200 0 '],
  ['HTTP/1.1 304 x\r\nTransfer-Encoding: chunked\r\n\r\nzz', '304 0 '],
  ['HTTP/1.1 100 x\r\n\r\nHTTP/1.1 102 y\r\n\r\nHTTP/1.1 200 z\r\n\r\nb', '200 -1 b'],
  ['HTTP/1.1 101 x\r\n\r\nrest', '101 0 '],
  ['HTTP/1.1 101 x\r\nUpgrade: y\r\nConnection: a, UPGRADE\r\n\r\nrest', '101 0 rest'],
  [`${chunked}3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n`, '200 -1 abcde'],
  [`${chunked}3\r\nabc\r\n0\r\n\r\n`, '200 -1 abc'],
  [`${chunked}3\r\nabc`, 'unexpected EOF'],
  [`${chunked}3\r\nabcd\r\n`, 'malformed chunked encoding'],
  [`${chunked}3\nabc\r\n`, 'chunked line ends with bare LF'],
  [`${chunked}3\r\r\nabc\r\n`, 'invalid CR in chunked line'],
  [`${chunked}\r\nabc\r\n`, 'empty hex number for chunk length'],
  [`${chunked}0x3\r\nabc\r\n`, 'invalid byte in chunk length'],
  [`${chunked}${'1'.repeat(17)}\r\n`, 'http chunk length too large'],
  [`${chunked}4000000000000000\r\nx`, 'unexpected EOF'],
  [`${chunked}1;${'e'.repeat(4100)}\r\nx\r\n`, 'header line too long'],
  [`${chunked}${`1;${'e'.repeat(3000)}\r\nx\r\n`.repeat(7)}`, 'chunked encoding contains too much non-data'],
  [`${chunked}0\r\nT: v\r\n`, 'http: suspiciously long trailer after chunked body'],
  [`${chunked}0\r\n`, 'http: unexpected EOF reading trailer'],
  [`${chunked}0\r\nbad\r\n\r\n`, 'malformed MIME header: missing colon: "bad"'],
  [
    `${head}Transfer-Encoding: chunked\r\nTrailer: a, content-length\r\n\r\n`,
    'broken: bad trailer key "Content-Length"',
  ],
  [`${chunked}2af8\r\n${long}\r\n0\r\n\r\n`, '200 -1 10240'],
  [`${head}\r\n${long}`, '200 -1 10240'],
] as const;

test.for(cases)('an answer is read as Go does, %#', ([text, expected]) => {
  expect(read([text])).toBe(expected);
});

test.for(cases)('an answer is read alike byte by byte, %#', ([text, expected]) => {
  expect(read(text.split(''))).toBe(expected);
});

test('a field is looked at only when it is sure that it does not go on', () => {
  expect(read([`${head}A(b): c\r\n`], 'waits')).toBe('waits');
  expect(read([`${head}no colon\r\n`], 'waits')).toBe(
    'broken: malformed MIME header: missing colon: "no colon"',
  );
});

test('a body is waited for until as much of it is there as is wanted', () => {
  expect(read([`${head}\r\n`, long.slice(0, 10_240)], 'waits')).toBe('200 -1 10240');
  expect(read([`${head}\r\n`, long.slice(0, 10_239)], 'waits')).toBe('waits');
});

test('a reset is reported once; later reads see the end', () => {
  const reset = new Error('reset');
  expect(read([], reset)).toBe('reset');
  expect(read(['HTTP/1.1 200 OK\r\n'], reset)).toBe('broken: unexpected EOF');
  expect(read([`${head}A: b`], reset)).toBe('broken: unexpected EOF');
  expect(read([`${head}\r\nab`], reset)).toBe('reset');
});

test('headers without end are given up, informational ones included', () => {
  const tooMuch = 'broken: net/http: server response headers exceeded 10485760 bytes; aborted';
  expect(
    read(
      Array.from({ length: 1100 }, () => 'x'.repeat(10_000)),
      'waits',
    ),
  ).toBe(tooMuch);
  const hint = `HTTP/1.1 103 x\r\nA: ${'y'.repeat(9000)}\r\n\r\n`;
  expect(
    read(
      Array.from({ length: 1200 }, () => hint),
      'waits',
    ),
  ).toBe(tooMuch);
});
