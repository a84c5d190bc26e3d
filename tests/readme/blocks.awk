# blocks.awk PAGE: reads the blocks of code in a Markdown page. Prints "PAGE:LINE: why" and exits 1 for a block that no test
# runs. Tests run a block if it is
#   cpp      followed by a text block, which is what the program must print, with no other block between them;
#   cmake    followed by such a cpp block, the main.cpp of the project;
#   console  whose commands tests/readme/commands.sh runs
#   python   of docs/python.md, which tests/python/test_docs.py runs; a text block may follow: what it must print.
# A comment right before a block excuses it: `<!-- not run: why -->`. So does `<!-- map: ... -->`, which readme_map checks.
#
# With `-v out=FOLDER -v name=NAME` it writes each program to FOLDER as NAME_1.cpp and NAME_1.txt, what it must print, and
# NAME_1.cmake if it has a CMakeLists.txt; and prints a line for each, "program NAME_1" or "project NAME_1". NAME_1.part.cpp is the
# program for a unit of many: after its includes all is in a namespace NAME_1, and its main is main_of_page, which returns 0.
# With `-v commands=1` it prints the lines of the console blocks.

function complain(line, why) {
  print FILENAME ":" line ": " why
  bad = 1
}

function expect_no_program(at) {
  if (code != "") complain(code_line, "a text block must follow this program: what it prints")
  if (at != "cpp" && project != "") complain(project_line, "a cpp block must follow this project: its main.cpp")
  code = ""
  if (at != "cpp") project = ""
}

function write(suffix, text) {
  printf "%s", text >(out "/" name "_" number suffix)
  close(out "/" name "_" number suffix)
}

# part(NAMESPACE, CODE): see NAME_1.part.cpp above.
function part(namespace, code,    lines, count, i, includes, body, in_main) {
  count = split(code, lines, "\n")
  for (i = 1; i < count; ++i) {
    if (lines[i] ~ /^#include/) {
      includes = includes lines[i] "\n"
      continue
    }
    if (sub(/^int main\(\)/, "int main_of_page()", lines[i])) in_main = 1
    if (in_main && lines[i] == "}") {
      body = body "  return 0;\n"
      in_main = 0
    }
    body = body lines[i] "\n"
  }
  return includes "\nnamespace " namespace " {\n" body "}\n"
}

function end_program() {
  ++number
  if (out != "") {
    write(".cpp", code)
    write(".part.cpp", part(name "_" number, code))
    write(".txt", text)
    if (project != "") write(".cmake", project)
    print (project != "" ? "project " : "program ") name "_" number
  }
  code = project = ""
}

/^ +```/ { complain(FNR, "a block must begin at the left margin") }

/^```/ && !inside {
  inside = 1
  language = substr($0, 4)
  begin = FNR
  text = ""
  next
}

/^```/ {
  inside = 0
  if (language == "text" && code != "" && !excused) {
    end_program()
  } else {
    expect_no_program(excused ? "" : language)
    if (excused) {
    } else if (language == "cpp") {
      code = text
      code_line = begin
    } else if (language == "cmake") {
      project = text
      project_line = begin
    } else if (language == "python" && FILENAME ~ /(^|\/)python\.md$/) {
      python = 1
    } else if (language == "text" && python) {
      python = 0
    } else if (language == "console") {
      if (commands) printf "%s", text
    } else {
      complain(begin, "no test runs this block: write <!-- not run: why --> before it")
    }
  }
  excused = 0
  next
}

inside {
  text = text $0 "\n"
  next
}

/^<!-- (not run|map): .*-->$/ {
  excused = 1
  next
}

/[^ ]/ { excused = 0 }

END {
  if (inside) complain(begin, "this block has no end")
  expect_no_program("")
  exit bad
}
