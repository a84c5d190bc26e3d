// node tensorboard.mjs GRADUS FOLDER RUN TEXT: compares the event files of `gradus train --tensorboard` with metrics.jsonl.
//
// @roboflow/tfrecords reads the TFRecords and compares their checksums; protobufjs reads the messages by TensorFlow's
// definitions of Event and Summary. FOLDER has the packages; RUN is made.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Checks } from "./checks.mjs";

const [gradus, folder, run, text] = process.argv.slice(2);
const packages = createRequire(path.join(folder, "node_modules", "x"));
const { TFRecordsReader } = packages("@roboflow/tfrecords/src/tensorFlowReader.js");
const { TFRecordsImageMessage } = packages("@roboflow/tfrecords/src/tensorFlowRecordsProtoBuf_pb.js");
const protobuf = packages("protobufjs");
const { check, finish } = new Checks();

// The fields that gradus writes, with the numbers of event.proto and summary.proto.
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Event {
    double wall_time = 1;
    int64 step = 2;
    oneof what { string file_version = 3; Summary summary = 5; SessionLog session_log = 7; }
  }
  message Summary {
    message Value { string tag = 1; float simple_value = 2; }
    repeated Value value = 1;
  }
  message SessionLog {
    enum SessionStatus { STATUS_UNSPECIFIED = 0; START = 1; STOP = 2; CHECKPOINT = 3; }
    SessionStatus status = 1;
  }`, { keepCase: true });
const Event = root.lookupType("Event");

// The reader of TFRecords leaves the bytes of each record to the message's type.
const records = [];
TFRecordsImageMessage.deserializeBinary = (bytes) => records.push(Buffer.from(bytes));
const eventsOf = (file) => {
  records.length = 0;
  const bytes = readFileSync(file);
  new TFRecordsReader(bytes);
  const length = records.reduce((sum, record) => sum + record.length + 16, 0);
  check(`${path.basename(file)}: all bytes are records with right checksums`, length, bytes.length);
  return records.map((record) => Event.toObject(Event.decode(record), { longs: Number, oneofs: true }));
};

const train = (...flags) =>
  execFileSync(gradus, ["train", "--text", text, "--preset", "tiny", "--steps", "60", "--eval-every", "20", "--out", run,
                        "--quiet", ...flags]);
train("--tensorboard", "--stop-after", "30");
const known = new Set(readdirSync(path.join(run, "tensorboard")));
execFileSync(gradus, ["train", "--out", run, "--resume", "--quiet"]);
const files = readdirSync(path.join(run, "tensorboard")).sort((a, b) => known.has(b) - known.has(a));
check("each start has a file", files.length, 2);

const points = new Map();  // tag -> step -> value, as TensorBoard keeps them
for (const [i, file] of files.entries()) {
  const events = eventsOf(path.join(run, "tensorboard", file));
  check(`${file}: version`, events[0].file_version, "brain.Event:2");
  check(`${file}: start`, [events[1].what, events[1].session_log.status, events[1].step ?? 0],
        ["session_log", 1, i === 0 ? 0 : 31]);
  for (const series of points.values())
    for (const step of series.keys())
      if (step >= events[1].step) series.delete(step);
  for (const event of events.slice(2))
    for (const { tag, simple_value } of event.summary.value) {
      if (!points.has(tag)) points.set(tag, new Map());
      check(`${tag} after step ${event.step} comes once`, points.get(tag).has(event.step), false);
      points.get(tag).set(event.step, simple_value);
    }
}

const expected = new Map();
for (const line of readFileSync(path.join(run, "metrics.jsonl"), "utf8").trim().split("\n")) {
  const record = JSON.parse(line);
  const keys = { step: ["loss", "lr", "grad_norm", "tokens_per_s"], eval: ["val_loss"] }[record.event] ?? [];
  for (const key of keys) {
    const tag = key === "val_loss" ? "val/loss" : `train/${key}`;
    if (!expected.has(tag)) expected.set(tag, new Map());
    expected.get(tag).set(record.step, Math.fround(record[key]));
  }
}
for (const [tag, series] of expected) check(`${tag}: as in metrics.jsonl`, [...points.get(tag)], [...series]);
check("no other scalars", [...points.keys()].sort(), [...expected.keys()].sort());
finish();
