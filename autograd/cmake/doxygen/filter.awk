# filter.awk HEADER: a public header as Doxygen is to read it, line for line. Headers are laid out for those who open them,
# and their comments are plain text; this says in Doxygen's words what the layout means:
# - The // comment before #pragma once is about the file. It is also about the class that it begins with, "// Linear: ...",
#   if that has no comment of its own. What is indented in it, after an empty line, is shown as it stands.
# - A /// comment above a function is also about the overloads below it, up to the next blank line or comment, that have none;
#   all operators count as overloads of one.
# - A comment about members that are declared at once, "Tensor k, v;", is about each.
# - Special members that are defaulted or deleted need no comment, nor do copying and moving.
# - "// -- products" begins a section of a long header.
# - "Tensor(max)(...)", whose name no macro replaces, is a function as others are.

# function_name(LINE): of the function whose declaration the line begins; "" if it begins another. A function's parenthesis
# stands outside <> and before any =.
function function_name(line) {
  if (line ~ /^ *(class|struct|enum|using|namespace|friend|private|protected|public|static_assert|concept|#)/) return ""
  if (line ~ /operator/) return "operator"
  while (gsub(/<[^<>]*>/, "", line)) continue
  sub(/=.*/, "", line)
  return match(line, /[A-Za-z_0-9]+\(/) ? substr(line, RSTART, RLENGTH - 1) : ""
}

# copies_or_moves(LINE): whether it begins a constructor or an assignment that takes another object of the class.
function copies_or_moves(line, called) {
  if (line ~ /operator=\(/) return 1
  if (!match(line, /^ *[A-Z][A-Za-z]*\(/)) return 0
  called = substr(line, RSTART, RLENGTH - 1)
  gsub(/ /, "", called)
  return line ~ ("^ *" called "\\((const )?" called "&&? ?[a-z]*\\)")
}

# without_comment(LINE): the code on it.
function without_comment(line) {
  sub(/ *\/\/.*/, "", line)
  return line
}

# opened(LINE): how many more braces it opens than it closes.
function opened(line) { return gsub(/\{/, "", line) - gsub(/\}/, "", line) }

# escaped(TEXT): so that Doxygen shows it as it is; what stands in backticks it leaves alone.
function escaped(text, parts, count, i) {
  count = split(text, parts, "`")
  text = ""
  for (i = 1; i <= count; ++i) {
    if (i % 2 == 1 || i == count) gsub(/[\\@<>#%]/, "\\\\&", parts[i])
    text = text (i > 1 ? "`" : "") parts[i]
  }
  return text
}

# with_escaped_comment(LINE): code and what is said behind it.
function with_escaped_comment(line) {
  if (!match(line, /\/\/\/</)) return line
  return substr(line, 1, RSTART + 3) escaped(substr(line, RSTART + 4))
}

# one_by_one(LINE, ABOUT): the declarations of members of one type that a line makes, each with the comment.
function one_by_one(line, about, trailing, type, names, count, i) {
  trailing = ""
  if (match(line, / *\/\/\/<.*/)) {
    trailing = substr(line, RSTART, RLENGTH)
    sub(/ *\/\/\/</, "", trailing)
    trailing = "  /**<" escaped(trailing) " */"
  }
  line = without_comment(line)
  sub(/;$/, "", line)
  match(line, /^ *[A-Za-z_0-9:<>]+ /)
  type = substr(line, 1, RLENGTH)
  count = split(substr(line, RLENGTH + 1), names, ", ")
  line = ""
  for (i = 1; i <= count; ++i) line = line (i > 1 ? about : "") type names[i] ";" trailing
  return line
}

# flush_template(): the line held back until it was known what it is a template of.
function flush_template() {
  if (template != "") print template
  template = ""
}

/^[A-Za-z]+\([a-z]+\)\(/ {
  sub(/\(/, " ")
  sub(/\)/, "")
}

FNR == 1 {
  name = FILENAME
  sub(/.*\/gradus\//, "gradus/", name)
  if (/^\/\/ [A-Za-z0-9]+: /) {
    title = $2
    sub(/:/, "", title)
  }
}

!begun && /^\/\// {
  sub(/^\/\//, "")
  if ($0 !~ /^   /) as_it_stands = 0
  else if (empty_before) as_it_stands = 1
  empty_before = /^ *$/ || (as_it_stands && empty_before)
  print as_it_stands ? "///    " $0 : "///" escaped($0)
  next
}
!begun && /^#pragma once/ {
  begun = 1
  print "/// \\file"
  next
}

# Within a declaration that takes more than a line.
within {
  braces += opened(without_comment($0))
  if (braces <= 0 && without_comment($0) ~ /[;}]$/) within = 0
  print with_escaped_comment($0)
  next
}

/^ *\/\/ -- [^-]/ {
  doc = ""
  sub(/^ *\/\/ -- /, "")
  print (section ? "/** @} */ " : "") "/** \\name " escaped($0) " */ /** @{ */"
  section = 1
  next
}
section && /^ *(private:|};?( |$))/ {
  section = 0
  print "/** @} */ " $0
  next
}
/^ *\/\/\/( |$)/ {
  text = $0
  sub(/^ *\/\/\/ ?/, "", text)
  text = escaped(text)
  doc = commented ? doc " " text : text
  commented = 1
  print "/// " text
  next
}
/^ *(\/\/.*)?$/ {
  if ($1 !~ /^\/\/\/</) doc = ""
  commented = 0
  print with_escaped_comment($0)
  next
}
/= (default|delete);$/ && !commented {
  flush_template()
  print ""
  next
}
/^ *template <.*>$/ {
  template = $0
  next
}
/^ +[A-Za-z_0-9:<>]+ [A-Za-z_0-9]+( = [^,;(]+)?(, [A-Za-z_0-9]+( = [^,;(]+)?)+;/ {
  print one_by_one($0, commented ? "/** " doc " */ " : "")
  doc = ""
  commented = 0
  next
}

{
  about = ""
  called = function_name($0)
  if (called == "") {
    if (!commented && title != "" && $0 ~ "^ *(class|struct) " title "[ :{]" && /\{/) about = "\\copydoc " name
    doc = ""
  } else if (commented) {
    documented = called
  } else if (doc != "" && called == documented && !/\/\/\/</) {
    about = doc
  } else if (copies_or_moves($0)) {
    about = "As usual."
  }
  if (about != "") about = "/** " about " */ "
  if (template != "") {
    template = about template
    about = ""
  }
  flush_template()
  print about with_escaped_comment($0)
  commented = 0
  if (called != "") {
    braces = opened(without_comment($0))
    within = braces > 0 || without_comment($0) !~ /[;}]$/
  }
}
